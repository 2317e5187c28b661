package rbac_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
)

var account = types.NamespacedName{Namespace: "dns", Name: "publisher"}

// budget is the name of the role for stored budgets, which every publisher that writes needs.
const budget = "signpost-dns-budget"

// roles returns the roles for flags, without that for budgets unless these are set: a line for each
// rule: the kind, the namespace and the name of the role, the resource, and the verbs.
func roles(t *testing.T, args ...string) []string {
	t.Helper()
	c := settings.NewDNSFlags()
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	c.AddFlags(flags)
	if err := flags.Parse(append(args, "--provider=inmemory", "--policy=sync")); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(flags); err != nil {
		t.Fatal(err)
	}
	needed := rbac.DNS(c.Config, account)
	if len(needed) == 0 {
		return nil
	}
	text := rbac.Manifest(needed)
	var lines []string
	for document := range strings.SplitSeq(text, "---\n") {
		var role rbacv1.ClusterRole // a Role has no other fields
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if role.Name == budget && !slices.Contains(args, "--max-deletions=1") {
			continue // every publisher needs it
		}
		for _, rule := range role.Rules {
			lines = append(lines, strings.TrimSpace(strings.Join([]string{
				role.Kind, role.Namespace + "/" + role.Name, strings.Join(rule.APIGroups, ",") + "/" + strings.Join(rule.Resources, ","),
				strings.Join(rule.Verbs, ","), strings.Join(rule.ResourceNames, ","),
			}, " ")))
		}
	}
	return lines
}

func TestDNS(t *testing.T) {
	t.Parallel()
	const (
		everywhere = "ClusterRole /signpost-dns "
		events     = "events.k8s.io/events create,patch"
		instance   = everywhere + "/namespaces get kube-system"
	)
	tests := map[string]struct {
		args []string
		want []string
	}{
		"no objects": {args: []string{"--source=fake"}},
		"one source": {args: []string{"--source=ingress"}, want: []string{everywhere + "networking.k8s.io/ingresses list,watch", instance, everywhere + events}},
		"only what the flags need": {
			args: []string{"--source=service", "--service-type-filter=LoadBalancer"},
			want: []string{everywhere + "/services list,watch", instance, everywhere + events},
		},
		"namespaces": {
			args: []string{"--source=pod", "--namespace=a,b"},
			want: []string{
				everywhere + "/nodes list,watch",
				"Role a/signpost-dns /pods list,watch", "Role a/signpost-dns " + events,
				"Role b/signpost-dns /pods list,watch", "Role b/signpost-dns " + events,
				"Role default/signpost-dns " + events,
			},
		},
		"a source that needs all namespaces": {
			args: []string{"--source=contour-ingressroute", "--namespace=a"},
			want: []string{everywhere + "/services list,watch", "Role a/signpost-dns contour.heptio.com/ingressroutes list,watch", "Role a/signpost-dns " + events},
		},
		"Gateways of a namespace (dns F2)": {
			args: []string{"--source=gateway-httproute", "--namespace=a", "--gateway-namespace=edge"},
			want: []string{
				everywhere + "/namespaces list,watch", "Role a/signpost-dns gateway.networking.k8s.io/httproutes list,watch", "Role a/signpost-dns " + events,
				"Role default/signpost-dns " + events, "Role edge/signpost-dns gateway.networking.k8s.io/gateways list,watch",
			},
		},
		"no namespace at all": {
			args: []string{"--source=node", "--namespace=a"},
			want: []string{everywhere + "/nodes list,watch", "Role default/signpost-dns " + events},
		},
		"a source that writes": {
			args: []string{"--source=crd", "--crd-source-kind=Record", "--crd-source-apiversion=dns.example.org/v1", "--namespace=a"},
			want: []string{
				"Role a/signpost-dns dns.example.org/records list,watch",
				"Role a/signpost-dns dns.example.org/records get", "Role a/signpost-dns dns.example.org/records/status update", "Role a/signpost-dns " + events,
			},
		},
		"dry run": {
			args: []string{"--source=crd", "--namespace=a", "--registry=crd", "--dry-run"},
			want: []string{
				"Role a/signpost-dns externaldns.k8s.io/dnsendpoints list,watch", "Role a/signpost-dns " + events,
				"Role dns/signpost-dns-registry externaldns.k8s.io/dnsrecords get,list",
			},
		},
		"budget": {
			args: []string{"--source=fake", "--max-deletions=1"},
			want: []string{"Role dns/signpost-dns-budget /configmaps create", "Role dns/signpost-dns-budget /configmaps get,update signpost-dns-budget"},
		},
		// D23: DNSRecords could be written in all namespaces.
		"registry": {
			args: []string{"--source=fake", "--registry=crd", "--crd-registry-namespace=records"},
			want: []string{
				"Role records/signpost-dns-registry externaldns.k8s.io/dnsrecords get,list,create,update,delete",
				"Role records/signpost-dns-registry externaldns.k8s.io/dnsrecords/status update",
			},
		},
		"election": {
			args: []string{"--source=fake", "--leader-elect", "--leader-elect-resource-namespace=leases", "--leader-elect-resource-name=me"},
			want: []string{
				"Role leases/signpost-dns-lease coordination.k8s.io/leases create",
				"Role leases/signpost-dns-lease coordination.k8s.io/leases get,update me",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, roles(t, test.args...)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
	c := settings.NewDNSFlags()
	c.Publisher.DryRun = true
	if roles := rbac.DNS(c.Config, account); len(roles) > 0 {
		t.Errorf("without sources, and without writes: %v", roles)
	}
}

// The rule for nodes says which objects wait without it, unless a source needs nodes for all of its
// objects.
func TestWithoutNodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sources []string
		needed  bool
	}{{[]string{"service"}, false}, {[]string{"service", "node"}, true}, {[]string{"node", "service"}, true}} {
		c := settings.NewDNSFlags()
		c.Publisher.Sources, c.Publisher.DryRun = test.sources, true
		for _, role := range rbac.DNS(c.Config, account) {
			for _, rule := range role.Rules {
				if rule.Resource == "nodes" && (rule.Without == "") != test.needed {
					t.Errorf("sources %v: without the right to nodes: %q", test.sources, rule.Without)
				}
			}
		}
	}
}

// Two publishers of one process share what both read, and each source is named once.
func TestTwoPublishers(t *testing.T) {
	t.Parallel()
	c := settings.NewDNSFlags()
	other := settings.NewDNSFlags().Publisher
	c.Publisher.Sources, other.Sources = []string{"pod"}, []string{"service", "pod"}
	c.Publisher.DryRun, other.DryRun = true, true
	c.Config.DNS.Publishers = append(c.Config.DNS.Publishers, other)
	got := rbac.Manifest(rbac.DNS(c.Config, account))
	want := `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: signpost-dns
rules:
  # pod, service
  - apiGroups: [""]
    resources: [pods]
    verbs: [list, watch]
  # pod, service
  - apiGroups: [""]
    resources: [nodes]
    verbs: [list, watch]
  # service
  - apiGroups: [""]
    resources: [services]
    verbs: [list, watch]
  # service
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    verbs: [list, watch]
  - apiGroups: [""]
    resources: [namespaces]
    resourceNames: [kube-system]
    verbs: [get]
  - apiGroups: [events.k8s.io]
    resources: [events]
    verbs: [create, patch]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	list := []rbac.Role{{Name: "a"}, {Name: "b", Namespace: "n"}}
	documents := strings.Split(rbac.Bindings(list, account), "---\n")
	want := []rbacv1.RoleBinding{{}, {}}
	want[0].Kind, want[0].Name, want[0].RoleRef.Kind = "ClusterRoleBinding", "a", "ClusterRole"
	want[1].Kind, want[1].Name, want[1].Namespace, want[1].RoleRef.Kind = "RoleBinding", "b", "n", "Role"
	for i := range want {
		want[i].APIVersion, want[i].RoleRef.APIGroup, want[i].RoleRef.Name = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io", want[i].Name
		want[i].Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "dns", Name: "publisher"}}
		var got rbacv1.RoleBinding
		if err := yaml.UnmarshalStrict([]byte(documents[i]), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Names of users are strings in YAML, whatever they look like.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"a", "null", "1", "a: b", "a]\n- x", "\"", "é", "1e3", "a#b", "yes", "0x1", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ToValidUTF8(name, "") != name {
			t.Skip("no flag that isn't UTF-8 gets this far")
		}
		role := rbac.Role{Name: "r", Rules: []rbac.Rule{{Group: name, Resource: name, Object: name + "x", Verbs: []string{"get"}}}}
		var got rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(rbac.Manifest([]rbac.Role{role})), &got); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if rule := got.Rules[0]; rule.APIGroups[0] != name || rule.Resources[0] != name || rule.ResourceNames[0] != name+"x" {
			t.Errorf("%q is read as %q", name, rule)
		}
	})
}

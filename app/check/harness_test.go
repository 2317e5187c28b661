package check

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// testLimit is the time limit of a check in tests.
const testLimit = 30 * time.Second

// inputOf returns the input of checks that read with all rights, and whose service account is reviewed.
func inputOf(cfg *rest.Config, config settings.Config, account types.NamespacedName) Input {
	rights := rest.CopyConfig(cfg)
	as := "system:serviceaccount:" + account.Namespace + ":" + account.Name
	rights.Impersonate.UserName = as
	return Input{Config: config, Rights: rights, Own: cfg, As: as, Account: account, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// dnsConfig returns the config of flags of signpost dns.
func dnsConfig(t *testing.T, args ...string) settings.Config {
	t.Helper()
	c := settings.NewDNSFlags()
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	c.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(flags); err != nil {
		t.Fatal(err)
	}
	return c.Config
}

// wholeConfig returns a config with some of the roles, and with everything in them.
func wholeConfig(t *testing.T, namespace string, sections ...string) settings.Config {
	t.Helper()
	args := []string{"--provider=inmemory", "--inmemory-zone=example.org", "--policy=sync", "--registry=crd", "--crd-registry-namespace=" + namespace, "--leader-elect", "--gateway-listener-sets"}
	for _, p := range plugins.Sources() {
		args = append(args, "--source="+p.Name)
	}
	config := dnsConfig(t, args...)
	config.RunsDNS = false
	config.Destination.ControllerNamespace = namespace
	for _, leader := range []*settings.Leader{&config.Destination.Leader, &config.Controllers.Leader, &config.DNS.Leader} {
		leader.ResourceNamespace = namespace
	}
	for _, section := range sections {
		switch section {
		case settings.DestinationSection:
			config.RunsDestination = true
		case settings.ControllersSection:
			config.RunsControllers = true
		case settings.DNSSection:
			config.RunsDNS = true
		}
	}
	return config
}

// deployed returns the roles of a file in deploy/rbac.
func deployed(t *testing.T, section string) []rbacv1.ClusterRole {
	t.Helper()
	text, err := os.ReadFile("../../deploy/rbac/" + section + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var roles []rbacv1.ClusterRole
	for document := range strings.SplitSeq(string(text), "---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		roles = append(roles, role)
	}
	return roles
}

// bind creates roles under names of the account's own, and binds each to the account: in the
// namespace that the role of that name in needed has, or everywhere.
func bind(t *testing.T, api *kubetest.Cluster, account types.NamespacedName, roles []rbacv1.ClusterRole, needed []rbac.Role) {
	t.Helper()
	ctx := context.Background()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}
	for _, r := range roles {
		namespace := ""
		for _, n := range needed {
			if n.Name == r.Name {
				namespace = n.Namespace
			}
		}
		own := r.DeepCopy()
		own.Name = fmt.Sprintf("%s-%s-%s", account.Namespace, account.Name, r.Name)
		if _, err := api.Client.RbacV1().ClusterRoles().Create(ctx, own, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		meta := metav1.ObjectMeta{Name: own.Name, Namespace: namespace}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: own.Name}
		var err error
		if namespace == "" {
			_, err = api.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
		} else {
			_, err = api.Client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := api.Client.RbacV1().ClusterRoles().Delete(ctx, own.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if namespace == "" {
				if err := api.Client.RbacV1().ClusterRoleBindings().Delete(ctx, own.Name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// group returns the results under a heading, a line for each: the state and the text.
func group(r Report, name string) []string {
	var lines []string
	for _, g := range r.Groups {
		if g.Name != name {
			continue
		}
		for _, result := range g.Results {
			lines = append(lines, string(result.State)+" "+result.Text)
		}
	}
	return lines
}

// only returns the results that are not OK.
func only(lines []string) []string {
	var rest []string
	for _, l := range lines {
		if !strings.HasPrefix(l, string(OK)) {
			rest = append(rest, l)
		}
	}
	return rest
}

// eventually waits until a report has these results under a heading.
func eventually(t *testing.T, s Input, name string, want []string) {
	t.Helper()
	kubetest.Eventually(t, 20*time.Second, func() error {
		if diff := cmp.Diff(want, group(Run(context.Background(), Checks(s), testLimit), name)); diff != "" {
			return fmt.Errorf("%s (-want +got):\n%s", name, diff)
		}
		return nil
	})
}

func sliceOf(name, managedBy string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelManagedBy: managedBy}}, AddressType: discoveryv1.AddressTypeIPv4}
}

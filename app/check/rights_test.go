package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/kubetest"
)

var sections = []string{settings.DestinationSection, settings.ControllersSection, settings.DNSSection}

// deploy/rbac allows everything that all roles together need.
func TestDeployedRolesAreEnough(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	account := types.NamespacedName{Namespace: api.Namespace(t), Name: "signpost"}
	config := wholeConfig(t, account.Namespace, sections...)
	s := inputOf(api.Config, config, account)
	for _, needed := range rbac.All(config, account) {
		bind(t, api, account, deployed(t, needed.Section), needed.Roles)
	}
	for _, needed := range rbac.All(config, account) {
		verbs := 0
		for _, role := range needed.Roles {
			for _, rule := range role.Rules {
				verbs += len(rule.Verbs)
			}
		}
		eventually(t, s, "rights of "+needed.Section, []string{fmt.Sprintf("ok %s has all %d rights that it needs", s.As, verbs)})
	}
	// Nothing else is wrong either, but for the kinds of other programs, which this cluster hasn't.
	report := Run(context.Background(), Checks(s), testLimit)
	for _, g := range report.Groups {
		for _, r := range g.Results {
			if r.State != OK && r.State != Note && g.Name != "kinds" {
				t.Errorf("%s: %s %s", g.Name, r.State, r.Text)
			}
		}
	}
}

// If ownership in the cluster can't be read, the zones are read all the same.
func TestOwnersThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	account := types.NamespacedName{Namespace: api.Namespace(t), Name: "nobody"}
	config := dnsConfig(t, "--source=fake", "--provider=inmemory", "--inmemory-zone=example.org", "--policy=sync", "--registry=crd")
	lines := group(Run(context.Background(), Checks(inputOf(api.Config, config, account)), testLimit), "zones")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "unknown the owners of these zones' records are unknown: ") || !strings.Contains(lines[0], `in the namespace "`+account.Namespace+`"`) ||
		!strings.HasPrefix(lines[1], "ok the zone example.org can be read") {
		t.Errorf("got %q", lines)
	}
}

// For each missing rule of deploy/rbac, check names the rights of that rule, and nothing else.
func TestEachRightThatIsMissing(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	for _, section := range sections {
		all := deployed(t, section)
		for i, role := range all {
			for j, rule := range role.Rules {
				name := fmt.Sprintf("%s/%s/%s/%s", section, role.Name, strings.ReplaceAll(strings.Join(rule.Resources, ","), "/", "_"), strings.Join(rule.Verbs, ","))
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					account := types.NamespacedName{Namespace: api.Namespace(t), Name: fmt.Sprintf("a%d-%d", i, j)}
					s := inputOf(api.Config, wholeConfig(t, account.Namespace, section), account)
					needed := rbac.All(s.Config, account)[0].Roles
					without := slices.Clone(all)
					without[i] = *role.DeepCopy()
					without[i].Rules = slices.Delete(without[i].Rules, j, j+1)
					bind(t, api, account, without, needed)
					want := expected(s, needed, without)
					eventually(t, s, "rights of "+section, want)
				})
			}
		}
	}
}

// expected returns the expected results if only some roles exist.
func expected(s Input, needed []rbac.Role, there []rbacv1.ClusterRole) []string {
	namespaces := map[string]string{}
	for _, n := range needed {
		namespaces[n.Name] = n.Namespace
	}
	var lines []string
	verbs := 0
	for _, n := range needed {
		for _, rule := range n.Rules {
			var lacking []string
			for _, verb := range rule.Verbs {
				verbs++
				if !allowed(rule, verb, n.Namespace, there, namespaces) {
					lacking = append(lacking, verb)
				}
			}
			if len(lacking) == 0 {
				continue
			}
			what, where, state, end := rule.Resource, "in all namespaces", Failed, ""
			if rule.Group != "" {
				what += "." + rule.Group
			}
			if rule.Object != "" {
				what += " " + rule.Object
			}
			if n.Namespace != "" {
				where = "in the namespace " + n.Namespace
			}
			if rule.Without != "" {
				state, end = Warning, ": "+rule.Without
			}
			lines = append(lines, fmt.Sprintf("%s %s may not %s %s %s%s", state, s.As, strings.Join(lacking, ", "), what, where, end))
		}
	}
	if len(lines) == 0 {
		return []string{fmt.Sprintf("ok %s has all %d rights that it needs", s.As, verbs)}
	}
	return lines
}

// allowed reports whether one of the existing roles allows something.
func allowed(rule rbac.Rule, verb, namespace string, there []rbacv1.ClusterRole, namespaces map[string]string) bool {
	return slices.ContainsFunc(there, func(r rbacv1.ClusterRole) bool {
		if in := namespaces[r.Name]; in != "" && in != namespace {
			return false
		}
		return slices.ContainsFunc(r.Rules, func(p rbacv1.PolicyRule) bool {
			return slices.Contains(p.APIGroups, rule.Group) && slices.Contains(p.Resources, rule.Resource) && slices.Contains(p.Verbs, verb) &&
				(len(p.ResourceNames) == 0 || slices.Contains(p.ResourceNames, rule.Object))
		})
	})
}

// Without any right, no right is reported as granted, and missing optional rights are warnings.
func TestNoRights(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	account := types.NamespacedName{Namespace: api.Namespace(t), Name: "nobody"}
	s := inputOf(api.Config, wholeConfig(t, account.Namespace, settings.DestinationSection), account)
	report := Run(context.Background(), Checks(s), testLimit)
	lines := group(report, "rights of destination")
	for _, want := range []string{
		"failed " + s.As + " may not list, watch pods in all namespaces",
		"warning " + s.As + " may not list, watch servers.policy.linkerd.io in all namespaces: objects of this kind are taken to be absent",
		"warning " + s.As + " may not get, update leases.coordination.k8s.io linkerd-destination-endpoint-write in the namespace " + account.Namespace + ": no EndpointSlices are written for ExternalWorkloads; serving doesn't need it",
		"warning " + s.As + " may not list, watch secrets in the namespace " + account.Namespace + ": there are no linked clusters",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("missing %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if report.ExitCode() != 1 {
		t.Errorf("exit code %d", report.ExitCode())
	}
}

// A missing right to impersonate is reported as such, and not as a missing right of the account.
func TestNobodyMayImpersonate(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	account := types.NamespacedName{Namespace: api.Namespace(t), Name: "other"}
	s := inputOf(api.Config, wholeConfig(t, account.Namespace, settings.ControllersSection), account)
	token := tokenOf(t, api, account.Namespace)
	s.Own = &rest.Config{Host: api.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: api.Config.CAData, CAFile: api.Config.CAFile}, BearerToken: token}
	s.Rights = rest.CopyConfig(s.Own)
	s.Rights.Impersonate.UserName = s.As
	report := Run(context.Background(), Checks(s), testLimit)
	lines := only(group(report, "rights of controllers"))
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "unknown the API server doesn't say what is allowed:") || !strings.Contains(lines[0], "cannot impersonate") {
		t.Errorf("got %q", lines)
	}
	// What this user may not look at is a note, not a fault.
	for _, name := range []string{"other writers", "installation"} {
		for _, line := range group(report, name) {
			if !strings.HasPrefix(line, string(Note)) {
				t.Errorf("%s: got %q", name, line)
			}
		}
	}
	if report.ExitCode() != 2 {
		t.Errorf("exit code %d, want 2", report.ExitCode())
	}
}

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/internal/golden"
)

// chartRights has the rules of the chart's roles. The names of Leases and ConfigMaps are in its templates,
// because they depend on values.
type chartRights struct {
	Destination chartDestination            `json:"destination"`
	XDS         chartXDS                    `json:"xds"`
	Controllers map[string][]chartRule      `json:"controllers"`
	Sources     map[string]chartSourceRules `json:"sources"`
	Registry    []chartRule                 `json:"registry"`
	// ListenerSets is for the sources of the Gateway API with gateway-listener-sets.
	ListenerSets []chartRule `json:"listenerSets"`
}

// chartDestination has the roles of the destination role.
type chartDestination struct {
	Serving []chartRule `json:"serving"`
	Writing []chartRule `json:"writing"`
	Links   []chartRule `json:"links"`
}

// chartXDS has the roles of the xds role. Tokens is for --xds-auth=token.
type chartXDS struct {
	Serving []chartRule `json:"serving"`
	Tokens  []chartRule `json:"tokens"`
	Links   []chartRule `json:"links"`
}

// chartSourceRules has the rules of a source in each namespace that it reads, and cluster-wide.
type chartSourceRules struct {
	Within     []chartRule `json:"within,omitempty"`
	Everywhere []chartRule `json:"everywhere,omitempty"`
}

// chartRule is a rule of a role.
type chartRule struct {
	APIGroups []string `json:"apiGroups,omitempty"`
	Resources []string `json:"resources,omitempty"`
	Paths     []string `json:"nonResourceURLs,omitempty"`
	Verbs     []string `json:"verbs"`
}

// TestRightsOfChart compares the chart's rules with those that the roles, controllers and sources declare;
// -update rewrites them.
func TestRightsOfChart(t *testing.T) {
	const file = "../../deploy/helm/signpost/files/rights.yaml"
	rights := chartRights{Destination: destinationRights(), XDS: xdsRights(), Controllers: map[string][]chartRule{}, Sources: map[string]chartSourceRules{}}
	for _, name := range controllers.Names() {
		c := settings.Default()
		c.RunsControllers = true
		c.Controllers.Controllers = []string{string(name)}
		rights.Controllers[string(name)] = rulesOf(rbac.Controllers(c), "signpost-controllers")
	}
	for _, p := range plugins.Sources() {
		within := rulesOf(sourceRoles(t, p.Name, "--namespace=one"), "signpost-dns/one")
		everywhere := rulesOf(sourceRoles(t, p.Name, "--namespace=one"), "signpost-dns")
		rights.Sources[p.Name] = chartSourceRules{within, everywhere}
	}
	rights.Registry = rulesOf(sourceRoles(t, "empty", "--registry=crd"), "signpost-dns-registry/kube-system")
	all := rulesOf(sourceRoles(t, "gateway-httproute", "--namespace=one", "--gateway-listener-sets"), "signpost-dns")
	rights.ListenerSets = slices.DeleteFunc(all, func(rule chartRule) bool {
		return slices.ContainsFunc(rights.Sources["gateway-httproute"].Everywhere, func(o chartRule) bool { return cmp.Equal(o, rule) })
	})
	text, err := yaml.Marshal(rights)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, file, "# What each part needs in the cluster: generated (make generate). templates/rbac.yaml makes roles of it.\n"+string(text))
}

func destinationRights() chartDestination {
	c := settings.Default()
	c.RunsDestination = true
	roles := rbac.Destination(c)
	return chartDestination{
		Serving: rulesOf(roles, "signpost-destination"),
		Writing: rulesOf(roles, "signpost-destination-writer"),
		Links:   rulesOf(roles, "signpost-destination-links/"+c.Destination.Settled().ControllerNamespace),
	}
}

func xdsRights() chartXDS {
	c := settings.Default()
	c.RunsXDS, c.XDS.Auth = true, settings.XDSAuthToken
	roles := rbac.XDS(c)
	return chartXDS{
		Serving: rulesOf(roles, "signpost-xds"),
		Tokens:  rulesOf(roles, "signpost-xds-tokens"),
		Links:   rulesOf(roles, "signpost-xds-links/"+c.XDS.LinkNamespace),
	}
}

// sourceRoles returns the roles of a publisher with one source.
func sourceRoles(t *testing.T, name string, more ...string) []rbac.Role {
	t.Helper()
	c := settings.NewDNSFlags()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.AddFlags(flags)
	if err := flags.Parse(append([]string{"--source=" + name}, more...)); err != nil {
		t.Fatal(err)
	}
	return rbac.DNS(c.Config, types.NamespacedName{Namespace: "kube-system", Name: "signpost"})
}

// rulesOf returns the rules of the role named NAME or NAME/NAMESPACE.
func rulesOf(roles []rbac.Role, name string) []chartRule {
	rules := []chartRule{}
	for _, r := range roles {
		full := strings.TrimSuffix(r.Name+"/"+r.Namespace, "/")
		if full != name {
			continue
		}
		for _, rule := range r.Rules {
			if rule.Object != "" {
				continue // in the templates
			}
			made := chartRule{APIGroups: []string{rule.Group}, Resources: []string{rule.Resource}, Verbs: rule.Verbs}
			if len(rule.Paths) > 0 {
				made = chartRule{Paths: rule.Paths, Verbs: rule.Verbs}
			}
			if !slices.ContainsFunc(rules, func(o chartRule) bool { return cmp.Equal(o, made) }) {
				rules = append(rules, made)
			}
		}
	}
	return rules
}

// TestDefinitionsOfChart compares the CustomResourceDefinitions in the chart with those of deploy/crds,
// because a chart can't include files from elsewhere.
func TestDefinitionsOfChart(t *testing.T) {
	for _, name := range []string{"externaldns.k8s.io_dnsendpoints.yaml", "externaldns.k8s.io_dnsrecords.yaml"} {
		want, err := os.ReadFile("../../deploy/crds/" + name)
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, "../../deploy/helm/signpost/files/crds/"+name, string(want))
	}
}

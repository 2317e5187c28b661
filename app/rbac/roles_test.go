package rbac_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
)

// lines returns the role and the resource of each rule, with the namespace if there is one, and a
// question mark for optional rights.
func lines(roles []rbac.Role) []string {
	var all []string
	for _, r := range roles {
		for _, rule := range r.Rules {
			line := r.Name + " " + rule.Resource
			if r.Namespace != "" {
				line = r.Namespace + "/" + line
			}
			if rule.Without != "" {
				line += "?"
			}
			all = append(all, line)
		}
	}
	return all
}

// The rights of a role depend on its settings.
func TestDestination(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set           func(*settings.Config)
		with, without []string
	}{
		"defaults": {
			set:  func(*settings.Config) {},
			with: []string{"signpost-destination endpointslices", "signpost-destination servers?", "signpost-destination-writer endpointslices?", "linkerd/signpost-destination-lease leases?", "linkerd/signpost-destination-links secrets?"},
		},
		"Endpoints": {
			set:     func(c *settings.Config) { c.Destination.EnableEndpointSlices, c.Destination.EnableIPv6 = false, false },
			with:    []string{"signpost-destination endpoints"},
			without: []string{"signpost-destination endpointslices", "signpost-destination-writer endpointslices?", "linkerd/signpost-destination-lease leases?"},
		},
		"another namespace": {
			set:  func(c *settings.Config) { c.Destination.ControllerNamespace = "mesh" },
			with: []string{"mesh/signpost-destination-lease leases?", "mesh/signpost-destination-links secrets?"},
		},
		// tenants S10: with all Secrets of the control plane's namespace, who has the process has the key
		// of the mesh.
		"links in a namespace of their own": {
			set:     func(c *settings.Config) { c.Destination.LinkNamespace = "links" },
			with:    []string{"linkerd/signpost-destination-lease leases?", "links/signpost-destination-links secrets?"},
			without: []string{"linkerd/signpost-destination-links secrets?"},
		},
		"without election": {
			set:     func(c *settings.Config) { c.Destination.Leader.Elect = false },
			with:    []string{"signpost-destination-writer endpointslices?"},
			without: []string{"linkerd/signpost-destination-lease leases?"},
		},
		"the controllers role writes": {
			set:     func(c *settings.Config) { c.RunsControllers = true },
			without: []string{"signpost-destination-writer endpointslices?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := settings.Default()
			c.RunsDestination = true
			test.set(&c)
			got := lines(rbac.Destination(c))
			for _, want := range test.with {
				if !slices.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
			for _, other := range test.without {
				if slices.Contains(got, other) {
					t.Errorf("%q in %q", other, got)
				}
			}
		})
	}
}

func TestControllers(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	c.Controllers.Controllers, c.Controllers.Leader.Elect = []string{"externalworkloads"}, false
	want := []string{
		"signpost-controllers services", "signpost-controllers externalworkloads?", "signpost-controllers endpointslices",
		"signpost-controllers endpointslices", "signpost-controllers services/finalizers?", "signpost-controllers events?",
	}
	if diff := cmp.Diff(want, lines(rbac.Controllers(c))); diff != "" {
		t.Errorf("one controller (-want +got):\n%s", diff)
	}
	if roles := rbac.Controllers(settings.Default()); len(roles) != 2 || roles[1].Namespace != "kube-system" {
		t.Errorf("defaults: %q", lines(roles))
	}
}

// Without the right to read ExternalWorkloads, their controller writes nothing. It doesn't conclude
// that there are none, and delete their slices.
func TestWithoutExternalWorkloads(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	c.RunsControllers = true
	for _, role := range rbac.Controllers(c) {
		for _, rule := range role.Rules {
			if want := "no EndpointSlices are written for ExternalWorkloads"; rule.Resource == "externalworkloads" && rule.Without != want {
				t.Errorf("without the right to %v %s: %q, want %q", rule.Verbs, rule.Resource, rule.Without, want)
			}
		}
	}
}

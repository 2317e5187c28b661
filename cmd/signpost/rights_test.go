package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/internal/golden"
)

// TestRightsOfDNS compares the roles in deploy with the resources that all sources declare; -update rewrites
// them, but not the comment above them.
func TestRightsOfDNS(t *testing.T) {
	c := settings.NewDNSFlags()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.AddFlags(flags)
	// With these flags, sources read more resources than by default.
	if err := flags.Parse([]string{"--gateway-listener-sets", "--traefik-enable-legacy"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range plugins.Sources() {
		c.Publisher.Sources = append(c.Publisher.Sources, p.Name)
	}
	c.Publisher.Registry.Kind = "crd"
	c.Config.DNS.Leader.Elect = true
	// An instance must be read only with --registry=txt.
	other := settings.NewDNSFlags().Publisher
	other.Sources = []string{"service"}
	c.Config.DNS.Publishers = append(c.Config.DNS.Publishers, other)
	checkRoles(t, "dns", rbac.DNS(c.Config, types.NamespacedName{Namespace: "kube-system", Name: "signpost-dns"}))
}

// TestRightsOfTheOthers compares the roles in deploy with the resources of the other roles' tables and the
// controllers.
func TestRightsOfTheOthers(t *testing.T) {
	c := settings.Default()
	c.RunsDestination = true
	checkRoles(t, "destination", rbac.Destination(c))
	c = settings.Default()
	c.RunsControllers = true
	checkRoles(t, "controllers", rbac.Controllers(c))
	c = settings.Default()
	c.RunsXDS, c.XDS.Auth = true, settings.XDSAuthToken
	checkRoles(t, "xds", rbac.XDS(c))
}

// checkRoles compares a file in deploy/rbac, after its first comment, with roles; -update rewrites it.
func checkRoles(t *testing.T, name string, roles []rbac.Role) {
	t.Helper()
	file, begin := "../../deploy/rbac/"+name+".yaml", "apiVersion:"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	comment, _, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no %q", file, begin)
	}
	for i := range roles {
		roles[i] = forAnyNamespace(roles[i])
	}
	golden.File(t, file, comment+rbac.Manifest(roles))
}

// forAnyNamespace returns a role as a ClusterRole, to be bound in one namespace.
func forAnyNamespace(r rbac.Role) rbac.Role {
	if r.Namespace != "" {
		r.Namespace = ""
		r.Why += ". Bind it in one namespace only."
	}
	return r
}

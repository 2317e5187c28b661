package skipperroutegroup_test

import (
	"fmt"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/skipperroutegroup"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, skipperroutegroup.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, skipperroutegroup.Plugin(), "lifecycle") }

const prefix = "external-dns.kubernetes.io/"

func object(annotations, spec, status string) string {
	return fmt.Sprintf("apiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {name: a, annotations: {%s}}\nspec: {%s}\nstatus: {%s}\n", annotations, spec, status)
}

var key = source.Key{Kind: "RouteGroup.zalando.org", Namespace: "default", Name: "a"}

// TestSkipped shows that an object without a record has a reason and an advice.
func TestSkipped(t *testing.T) {
	t.Parallel()
	skips := sourcetest.Skips(t, skipperroutegroup.Plugin(), key)
	skips("no host", object(prefix+"target: 192.0.2.1", "", ""), source.SkipNoHostname, "spec.hosts")
	skips("no target", object("", "hosts: [a.example.org]", ""), source.SkipNoTarget, "status.loadBalancer")
	skips("an empty template", object("", "", ""), source.SkipNoTarget, "status.loadBalancer", "--fqdn-template={{if false}}a{{end}}")
}

package kongtcpingress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/kongtcpingress"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, kongtcpingress.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, kongtcpingress.Plugin(), "lifecycle") }

const prefix = "external-dns.kubernetes.io/"

func object(annotations, spec, status string) string {
	return fmt.Sprintf("apiVersion: configuration.konghq.com/v1beta1\nkind: TCPIngress\nmetadata: {name: a, annotations: {%s}}\nspec: {%s}\nstatus: {%s}\n", annotations, spec, status)
}

var key = source.Key{Kind: "TCPIngress.configuration.konghq.com", Namespace: "default", Name: "a"}

// TestSkipped shows that an object without a record has a reason and an advice.
func TestSkipped(t *testing.T) {
	t.Parallel()
	skips := sourcetest.Skips(t, kongtcpingress.Plugin(), key)
	skips("no host", object(prefix+"target: 192.0.2.1", "rules: [{port: 1}]", ""), source.SkipNoHostname, "spec.rules")
	skips("no target", object("", "rules: [{host: a.example.org}]", ""), source.SkipNoTarget, "status.loadBalancer")
}

// TestHostile shows that a value that is beyond a limit, or unreadable, is reported.
func TestHostile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	problems := sourcetest.Problems(t, kongtcpingress.Plugin(), key)
	problems("rules", object(prefix+"target: 192.0.2.1", "rules: "+sourcetest.Many("{host: n%d.example.org}"), ""), source.NameLimit, "spec.rules: 5000 items: the first 2048 are used")
	problems("addresses", object("", "rules: [{host: a.example.org}]", "loadBalancer: {ingress: "+sourcetest.Many("{hostname: n%d.example.org}")+"}"), 1, "status.loadBalancer.ingress: 5000 items: the first 256")
	problems("a long host", object(prefix+"target: 192.0.2.1", "rules: [{host: "+long+"}, {host: a.example.org}]", ""), 1, "spec.rules: longer than 254 bytes")
	problems("another type", object(prefix+"target: 192.0.2.1", "rules: a", ""), 0, "field spec.rules")
}

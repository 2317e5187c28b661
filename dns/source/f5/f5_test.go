package f5_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/f5"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) {
	t.Run("virtualserver", func(t *testing.T) { sourcetest.RunIn(t, f5.VirtualServer(), "testdata/virtualserver") })
	t.Run("transportserver", func(t *testing.T) { sourcetest.RunIn(t, f5.TransportServer(), "testdata/transportserver") })
}

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, f5.VirtualServer(), "virtualserver/lifecycle")
	sourcetest.RunReal(t, f5.TransportServer(), "transportserver/lifecycle")
}

const prefix = "external-dns.kubernetes.io/"

func object(annotations, spec, status string) string {
	return fmt.Sprintf("apiVersion: cis.f5.com/v1\nkind: VirtualServer\nmetadata: {name: a, annotations: {%s}}\nspec: {%s}\nstatus: {%s}\n", annotations, spec, status)
}

var key = source.Key{Kind: "VirtualServer.cis.f5.com", Namespace: "default", Name: "a"}

// TestSkipped shows that an object without a record has a reason and an advice.
func TestSkipped(t *testing.T) {
	t.Parallel()
	skips := sourcetest.Skips(t, f5.VirtualServer(), key)
	skips("no host", object("", "", "vsAddress: 192.0.2.1"), source.SkipNoHostname, "spec.host")
	skips("not served", object("", "host: a.example.org, virtualServerAddress: 192.0.2.1", ""), source.SkipNoTarget, "BIG-IP doesn't serve")
	skips("an alias that isn't served", object("", "hostAliases: [a.example.org]", "vsAddress: none"), source.SkipNoTarget, "BIG-IP doesn't serve")
	skips("a template without targets", object("", "", ""), source.SkipNoTarget, "spec.virtualServerAddress", "--fqdn-template=a.example.org")
}

// TestMisspelled shows that the reason of a missing address doesn't hide the remark about a misspelt
// annotation.
func TestMisspelled(t *testing.T) {
	t.Parallel()
	s := sourcetest.MustOpen(t, f5.VirtualServer(), object(prefix+"tagret: 192.0.2.1", "host: a.example.org", ""))
	sourcetest.WantSkip(t, s.Evaluate(key), source.SkipNoTarget, "BIG-IP doesn't serve", source.SkipUnknownAnnotation)
}

// TestHostile shows that a value that is beyond a limit, or unreadable, is reported.
func TestHostile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	problems := sourcetest.Problems(t, f5.VirtualServer(), key)
	problems("aliases", object("", "hostAliases: "+sourcetest.Many("n%d.example.org"), "vsAddress: 192.0.2.1"), source.NameLimit, "spec.hostAliases: 5000 items: the first 512 are used")
	problems("a long host", object("", "hostAliases: ["+long+", a.example.org]", "vsAddress: 192.0.2.1"), 1, "spec.hostAliases: longer than 254 bytes")
	problems("a long address", object("", "host: a.example.org", "vsAddress: "+long), 0, "longer than 254 bytes")
	problems("another type", object("", "host: [a]", "vsAddress: 192.0.2.1"), 0, "field spec.host")
}

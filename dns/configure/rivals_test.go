package configure_test

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/configure"
)

// optionsOf returns the options of a publisher with flags.
func optionsOf(t *testing.T, name, flags string) *configure.Options {
	t.Helper()
	o, _ := given(t, strings.Fields(flags)...)
	o.Name = name
	return o
}

// Two publishers may have one owner ID only if they can't have a common zone of one server or
// account. Otherwise the error names the provider (split-horizon V6).
func TestRivals(t *testing.T) {
	t.Parallel()
	const rfc = "--provider=rfc2136 --rfc2136-zone=example.org "
	for name, test := range map[string]struct {
		a, b  string
		where string
	}{
		"two ports":                     {a: rfc + "--rfc2136-host=127.0.0.1 --rfc2136-port=5461", b: rfc + "--rfc2136-host=127.0.0.1 --rfc2136-port=5462"},
		"two addresses":                 {a: rfc + "--rfc2136-host=192.0.2.1", b: rfc + "--rfc2136-host=192.0.2.2"},
		"two names":                     {a: rfc + "--rfc2136-host=ns.out.test", b: rfc + "--rfc2136-host=ns.in.test"},
		"one server":                    {a: rfc + "--rfc2136-host=127.0.0.1", b: rfc + "--rfc2136-host=127.0.0.1 --rfc2136-port=53", where: "rfc2136 (rfc2136-host=127.0.0.1, rfc2136-port=53, rfc2136-zone=example.org)"},
		"with TLS and without":          {a: rfc + "--rfc2136-host=192.0.2.1 --rfc2136-port=53", b: rfc + "--rfc2136-host=192.0.2.1 --rfc2136-port=853", where: "rfc2136"},
		"one address in two forms":      {a: rfc + "--rfc2136-host=192.0.2.1", b: rfc + "--rfc2136-host=::ffff:192.0.2.1", where: "rfc2136"},
		"one name in two forms":         {a: rfc + "--rfc2136-host=NS.test.", b: rfc + "--rfc2136-host=ns.test", where: "rfc2136"},
		"a name may be the address":     {a: rfc + "--rfc2136-host=192.0.2.1", b: rfc + "--rfc2136-host=ns.test", where: "rfc2136"},
		"one of several servers":        {a: rfc + "--rfc2136-host=192.0.2.1 --rfc2136-host=192.0.2.2", b: rfc + "--rfc2136-host=192.0.2.2", where: "rfc2136"},
		"two zones of one server":       {a: "--provider=rfc2136 --rfc2136-host=127.0.0.1 --rfc2136-zone=a.test", b: "--provider=rfc2136 --rfc2136-host=127.0.0.1 --rfc2136-zone=b.test"},
		"a zone below the other":        {a: "--provider=rfc2136 --rfc2136-host=127.0.0.1 --rfc2136-zone=a.test", b: "--provider=rfc2136 --rfc2136-host=127.0.0.1 --rfc2136-zone=b.a.test", where: "rfc2136"},
		"two PowerDNS":                  {a: "--provider=pdns --pdns-server=http://a.test:8081", b: "--provider=pdns --pdns-server=http://b.test:8081"},
		"one PowerDNS":                  {a: "--provider=pdns --pdns-server=http://a.test:8081", b: "--provider=pdns --pdns-server=http://a.test:8081/", where: "pdns"},
		"public and private, Google":    {a: "--provider=google --google-zone-visibility=public", b: "--provider=google --google-zone-visibility=private"},
		"public and any, Google":        {a: "--provider=google --google-zone-visibility=public", b: "--provider=google", where: "google"},
		"public and private, Route 53":  {a: "--provider=aws --aws-zone-type=public", b: "--provider=aws --aws-zone-type=private"},
		"two resource groups":           {a: "--provider=azure --azure-resource-group=a", b: "--provider=azure --azure-resource-group=b"},
		"one account, as far as known":  {a: "--provider=cloudflare", b: "--provider=cloudflare", where: "cloudflare"},
		"tenants d11":                   {a: "--provider=inmemory --inmemory-zone=example.org", b: "--provider=inmemory --inmemory-zone=example.org", where: "inmemory"},
		"prefixes of etcd":              {a: "--provider=coredns --coredns-prefix=/a/", b: "--provider=coredns --coredns-prefix=/b/"},
		"a prefix in the other":         {a: "--provider=coredns --coredns-prefix=/a/", b: "--provider=coredns --coredns-prefix=/a/b/", where: "coredns"},
		"one store for all the servers": {a: rfc + "--registry=crd --rfc2136-host=192.0.2.1", b: rfc + "--registry=crd --rfc2136-host=192.0.2.2", where: "DNSRecords"},
		"another name of a provider":    {a: "--provider=azure", b: "--provider=azure-dns", where: "azure"},
		"other names, other groups":     {a: "--provider=azure --azure-resource-group=a", b: "--provider=azure-dns --azure-resource-group=b"},
		"entries for two providers":     {a: "--provider=azure --registry=crd", b: "--provider=azure-private-dns --registry=crd", where: "DNSRecords"},
		"two namespaces of entries":     {a: "--provider=azure --registry=crd", b: "--provider=azure-private-dns --registry=crd --crd-registry-namespace=b"},
		"one table for two providers":   {a: "--provider=aws --registry=dynamodb", b: rfc + "--registry=dynamodb", where: "items"},
		"two tables":                    {a: "--provider=aws --registry=dynamodb", b: rfc + "--registry=dynamodb --dynamodb-table=b"},
		"two tables for one zone":       {a: rfc + "--registry=dynamodb", b: rfc + "--registry=dynamodb --dynamodb-table=b", where: "rfc2136"},
		"two regions of a table":        {a: "--provider=aws --registry=dynamodb --dynamodb-region=a", b: rfc + "--registry=dynamodb --dynamodb-region=b"},
		"a table in some region":        {a: "--provider=aws --registry=dynamodb --dynamodb-region=a", b: rfc + "--registry=dynamodb", where: "items"},
		"a table for two domains":       {a: "--provider=aws --registry=dynamodb --domain-filter=a.test", b: rfc + "--registry=dynamodb --domain-filter=example.org"},
		"zones of one name":             {a: "--provider=aws --zone-id-filter=Z1", b: "--provider=aws --zone-id-filter=Z2"},
		"entries for zones of one name": {a: "--provider=aws --zone-id-filter=Z1 --registry=crd", b: "--provider=aws --zone-id-filter=Z2 --registry=crd", where: "DNSRecords"},
		"two owners":                    {a: "--provider=inmemory --txt-owner-id=a", b: "--provider=inmemory --txt-owner-id=b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := optionsOf(t, "a", test.a), optionsOf(t, "b", test.b)
			for _, pair := range [][2]*configure.Options{{a, b}, {b, a}} {
				where, rivals := configure.Rivals(pair[0], pair[1])
				if rivals != (test.where != "") || test.where != "" && !strings.Contains(where, strings.Split(test.where, " ")[0]) {
					t.Errorf("rivals %v, at %q; want %q", rivals, where, test.where)
				}
			}
			if where, _ := configure.Rivals(a, b); strings.Contains(test.where, "(") && !strings.HasSuffix(where, test.where) {
				t.Errorf("at %q; want %q", where, test.where)
			}
		})
	}
}

// A standby finds its publishers that the leader doesn't run, or runs with other settings
// (split-horizon V10).
func TestUnled(t *testing.T) {
	t.Parallel()
	public, private, unnamed := optionsOf(t, "public", "--txt-owner-id=a"), optionsOf(t, "private", "--txt-owner-id=b"), optionsOf(t, "", "--txt-owner-id=a")
	changed, tuned := optionsOf(t, "public", "--txt-owner-id=a --annotation-filter=x"), optionsOf(t, "public", "--txt-owner-id=a --interval=7m --max-deletions=3")
	for name, test := range map[string]struct {
		ours, theirs []*configure.Options
		unled, led   string
	}{
		"the same, in another order": {ours: []*configure.Options{public, private}, theirs: []*configure.Options{private, public}, led: "private public"},
		"more than we have":          {ours: []*configure.Options{public}, theirs: []*configure.Options{private, public}, led: "private public"},
		"others":                     {ours: []*configure.Options{private}, theirs: []*configure.Options{public}, unled: "private", led: "public"},
		"unnamed ones":               {ours: []*configure.Options{unnamed}, theirs: []*configure.Options{public}, unled: "(unnamed)", led: "public"},
		"other settings":             {ours: []*configure.Options{changed}, theirs: []*configure.Options{public}, unled: "public", led: "public"},
		"another interval":           {ours: []*configure.Options{tuned}, theirs: []*configure.Options{public}, led: "public"},
	} {
		unled, led := configure.Unled(test.ours, configure.LeadsFor(test.theirs))
		if strings.Join(unled, " ") != test.unled || strings.Join(led, " ") != test.led {
			t.Errorf("%s: %q are not led, and %q are; want %q and %q", name, unled, led, test.unled, test.led)
		}
	}
	if unled, led := configure.Unled([]*configure.Options{public}, strings.Repeat("x/y ", 100_000)); len(unled) != 1 || len(led) > 1000 {
		t.Errorf("of a hostile text: %d are not led, %d are", len(unled), len(led))
	}
}

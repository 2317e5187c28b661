package libdns_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const zoneName = "shop.test"

var zone = dns.Zone{ID: zoneName, Name: zoneName}

var input = providertest.Input

// file returns the path of a file with a text.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// configure returns settings for a module.
func configure(t *testing.T, m module.Module, settings string) *libdns.Config {
	t.Helper()
	return &libdns.Config{Name: m.Name, File: file(t, settings), Modules: []module.Module{m}}
}

// open opens a provider for a module of a service.
func open(t *testing.T, in provider.Input, m module.Module, zones ...string) provider.Provider {
	t.Helper()
	c := configure(t, m, `{"token": "secret-token"}`)
	c.Zones = zones
	return providertest.Open[provider.Provider](t, c, in)
}

func set(name, recordType string, ttl int64, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name + "." + zoneName, Type: recordType, TTL: ttl, Targets: targets, Labels: map[string]string{}}
}

// ownershipRecord returns an ownership record of a name.
func ownershipRecord(name, text string) *dns.RecordSet {
	r := set("a-"+name, dns.TypeTXT, 300, `"`+text+`"`)
	r.Labels[dns.LabelOwnedRecord] = name + "." + zoneName
	return r
}

// writes returns the calls that write, since the last look.
func writes(s *libdnstest.Service) []libdnstest.Call {
	var list []libdnstest.Call
	for _, c := range s.Calls() {
		if c.Writes() {
			list = append(list, c)
		}
	}
	return list
}

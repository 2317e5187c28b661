package publisher

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/owner/crd"
	"github.com/signpostd/signpost/testkit/crdtest"
)

// overQuota is an API server that refuses the objects of some names.
type overQuota struct {
	next    http.RoundTripper
	refused func(body string) bool
}

// RoundTrip implements [http.RoundTripper].
func (f overQuota) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return f.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	if !f.refused(string(body)) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return f.next.RoundTrip(r)
	}
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,` +
		`"message":"dnsrecords.externaldns.k8s.io \"x\" is forbidden: exceeded quota: records, requested: count/dnsrecords.externaldns.k8s.io=1"}`
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(status)), Request: r,
	}, nil
}

// If the API server refuses the DNSRecords of some names, by a quota or an admission policy, other names are
// still created, updated and deleted at once.
func TestRefusedClaims(t *testing.T) {
	for name, refused := range map[string]func(body string) bool{
		"an admission policy refuses a name": func(body string) bool { return strings.Contains(body, "bad.shop.test") },
		"the quota is used up": func(body string) bool {
			return !strings.Contains(body, "web.shop.test") && !strings.Contains(body, "old.shop.test")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playRefusedClaims(t, refused) })
		})
	}
}

func playRefusedClaims(t *testing.T, refused func(string) bool) {
	w := newFixture(t)
	server := crdtest.New(t)
	w.change = func(c *Config) {
		config, client := server.Config(func(next http.RoundTripper) http.RoundTripper { return overQuota{next, refused} })
		o, err := crd.New(crd.Options{Config: config, HTTPClient: client, ID: "me"})
		if err != nil {
			t.Fatal(err)
		}
		c.Owner = o
	}
	w.objects.set("web", record(t, "web", "web.shop.test", "A", "192.0.2.1"))
	w.objects.set("old", record(t, "old", "old.shop.test", "A", "192.0.2.1"))
	w.start()
	defer w.stop()
	waitIdle()
	w.objects.set("bad", record(t, "bad", "bad.shop.test", "A", "192.0.2.1"))
	time.Sleep(5 * DefaultInterval)
	w.inOnePass(func() {
		w.objects.set("bad", record(t, "bad", "bad.shop.test", "A", "192.0.2.2"))
		w.objects.set("web", record(t, "web", "web.shop.test", "A", "192.0.2.2"))
		w.objects.set("old")
	})
	time.Sleep(2 * time.Second)
	w.expectZone("web.shop.test A 192.0.2.2")
	w.expectNotices(map[string]int{"RecordError FailedSync bad.shop.test A": some, "ProviderError": 0})
}

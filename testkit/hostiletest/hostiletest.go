package hostiletest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/signpostd/signpost/internal/handlertransport"
)

// Zone is the name of the attacked zone, and ZoneID its ID, for providers with IDs.
const (
	Zone   = "shop.test"
	ZoneID = "00000000000000000000000000000001"
)

// Attack is the behaviour of a hostile server.
type Attack struct {
	// Provider is the value of --provider. Name describes the attack.
	Provider, Name string
	// Zones is true if the list of zones is attacked, and false if that of record sets is.
	Zones bool
	// Want is a part of the expected error.
	Want string

	serve func(w io.Writer, r *http.Request, n int)
}

// Attacks returns the attacks on a provider.
func Attacks(provider string) []Attack {
	var list []Attack
	for _, a := range all() {
		if a.Provider == provider {
			list = append(list, a)
		}
	}
	return list
}

// Server serves an attack. Other requests for zones get one zone, or none.
type Server struct {
	attack Attack
	// requests counts the attacked requests, and sent the bytes of the responses to them.
	requests, sent atomic.Int64
}

// Serve returns a server.
func (a Attack) Serve() *Server { return &Server{attack: a} }

// Sent returns how many bytes the server has sent in attacks.
func (s *Server) Sent() int64 { return s.sent.Load() }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20))
	w.Header().Set("Content-Type", contentTypes[s.attack.Provider])
	zones, records := asks[s.attack.Provider](r)
	switch {
	case zones && s.attack.Zones, records && !s.attack.Zones:
		out := &counter{to: w, sent: &s.sent}
		s.attack.serve(out, r, int(s.requests.Add(1)))
	case zones:
		_, _ = io.WriteString(w, oneZone[s.attack.Provider])
	default:
		_, _ = io.WriteString(w, rest(s.attack.Provider, r))
	}
}

// counter counts what it writes. It panics if the client has disconnected, which ends the response.
type counter struct {
	to   io.Writer
	sent *atomic.Int64
}

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.sent.Add(int64(n))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// To returns a transport that sends every request to the server at an address, whatever its host.
func To(address string, next http.RoundTripper) http.RoundTripper {
	base, err := url.Parse(address)
	return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		there := r.Clone(r.Context())
		there.Host = r.URL.Host
		there.URL.Scheme, there.URL.Host = base.Scheme, base.Host
		return next.RoundTrip(there)
	})
}

// asks report whether a request lists zones, or the record sets of a zone.
var asks = map[string]func(*http.Request) (zones, records bool){
	"webhook": func(r *http.Request) (bool, bool) {
		return false, r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/records")
	},
	"pdns": func(r *http.Request) (bool, bool) {
		return strings.HasSuffix(r.URL.Path, "/zones"), strings.Contains(r.URL.Path, "/zones/")
	},
	"cloudflare": func(r *http.Request) (bool, bool) {
		return strings.HasSuffix(r.URL.Path, "/zones"), strings.HasSuffix(r.URL.Path, "/dns_records")
	},
	"aws": func(r *http.Request) (bool, bool) {
		return strings.HasSuffix(r.URL.Path, "/hostedzone"), strings.HasSuffix(r.URL.Path, "/rrset")
	},
	"aws-sd": func(r *http.Request) (bool, bool) {
		action := r.Header.Get("X-Amz-Target")
		return strings.HasSuffix(action, "ListNamespaces"), strings.HasSuffix(action, "ListServices")
	},
	"google": func(r *http.Request) (bool, bool) {
		return strings.HasSuffix(r.URL.Path, "/managedZones"), strings.HasSuffix(r.URL.Path, "/rrsets")
	},
	"azure": func(r *http.Request) (bool, bool) {
		path := strings.ToLower(r.URL.Path)
		return strings.HasSuffix(path, "/dnszones"), strings.HasSuffix(path, "/all") || strings.HasSuffix(path, "/recordsets")
	},
	"libdns": func(r *http.Request) (bool, bool) {
		return strings.HasSuffix(r.URL.Path, "/zones"), strings.HasSuffix(r.URL.Path, "/rrsets")
	},
}

var contentTypes = map[string]string{
	"webhook": "application/external.dns.webhook+json;version=1", "pdns": "application/json", "cloudflare": "application/json", "aws": "text/xml",
	"aws-sd": "application/x-amz-json-1.1", "google": "application/json", "azure": "application/json", "libdns": "application/json",
}

// oneZone is a list with one zone.
var oneZone = map[string]string{
	"pdns":       `[{"id":"shop.test.","name":"shop.test."}]`,
	"cloudflare": `{"success":true,"result":[{"id":"` + ZoneID + `","name":"shop.test","status":"active","plan":{"legacy_id":"free"}}],"result_info":{"page":1,"total_pages":1,"count":1,"total_count":1}}`,
	"aws":        zonesXML(`<HostedZone><Id>/hostedzone/Z1</Id><Name>shop.test.</Name><CallerReference>c</CallerReference><ResourceRecordSetCount>2</ResourceRecordSetCount></HostedZone>`, ""),
	"aws-sd":     `{"Namespaces":[{"Id":"ns-1","Name":"shop.test","Type":"DNS_PUBLIC"}]}`,
	"google":     `{"managedZones":[{"id":"1","name":"shop-test","dnsName":"shop.test.","visibility":"public"}]}`,
	"azure":      `{"value":[{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnszones/shop.test","name":"shop.test","properties":{"numberOfRecordSets":2}}]}`,
	"libdns":     `{"zones":[{"id":1,"name":"shop.test","mode":"primary"}],"meta":{"pagination":{"page":1,"per_page":50,"last_page":1,"total_entries":1}}}`,
}

// rest is the response to requests that aren't attacked.
func rest(provider string, r *http.Request) string {
	switch {
	case provider == "webhook":
		return `{"include":["shop.test"]}`
	case provider == "libdns":
		return `{"zone":{"id":1,"name":"shop.test","mode":"primary"}}`
	case strings.Contains(r.URL.Path, "token"):
		return `{"access_token":"t","token_type":"Bearer","expires_in":3600}`
	}
	return `{}`
}

func zonesXML(zones, next string) string {
	return `<?xml version="1.0"?><ListHostedZonesResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><HostedZones>` + zones + `</HostedZones>` + truncated(next, "<NextMarker>%s</NextMarker>") + `<MaxItems>100</MaxItems></ListHostedZonesResponse>`
}

func truncated(next, form string) string {
	if next == "" {
		return "<IsTruncated>false</IsTruncated>"
	}
	return "<IsTruncated>true</IsTruncated>" + fmt.Sprintf(form, next)
}

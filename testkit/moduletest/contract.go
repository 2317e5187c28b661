package moduletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/dns/provider/libdns/route"
	"github.com/signpostd/signpost/testkit/providertest"
)

const zoneName = "contract.test"

// samples are two values of each type, in the form of zone files.
var samples = map[string][2]string{
	dns.TypeA: {"192.0.2.1", "192.0.2.2"}, dns.TypeAAAA: {"2001:db8::1", "2001:db8::2"},
	dns.TypeCNAME: {"one.example.net.", "two.example.net."}, dns.TypeTXT: {"heritage=external-dns,external-dns/owner=me", `a "b" \c; d`},
	dns.TypeMX: {"10 one.example.net.", "20 two.example.net."}, dns.TypeSRV: {"10 5 443 one.example.net.", "20 0 443 two.example.net."},
	dns.TypeNS: {"one.example.net.", "two.example.net."}, dns.TypePTR: {"one.example.net.", "two.example.net."},
	dns.TypeDNAME: {"one.example.net.", "two.example.net."}, dns.TypeNAPTR: {`100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`, `100 20 "S" "SIP+D2U" "" _sip._udp.example.net.`},
}

// contract appends, sets and deletes records of each type, and reads them back, through the module alone.
// Nothing else in the zone may change. Each request must have the context of its call.
func contract(t *testing.T, o Options) {
	store := NewStore()
	store.AddZone(zoneName)
	c := &conversation{t: t, module: o.Module, client: o.Module.New(), store: store}
	if err := json.Unmarshal(fmt.Appendf(nil, o.Settings, Secret), c.client); err != nil {
		t.Fatal(err)
	}
	web := o.input(providertest.Input(), store)
	watchContexts(t)
	c.ctx = route.Via(context.WithValue(t.Context(), call{}, true), web.Wrap(nil))
	other := c.record("other", dns.TypeA, "192.0.2.99")
	c.must(c.client.AppendRecords(c.ctx, zoneName+".", []lib.Record{other}))
	for _, recordType := range o.Module.Types {
		t.Run(recordType, func(t *testing.T) {
			c.t = t
			c.check(recordType, other)
		})
	}
	t.Run("apex", func(t *testing.T) {
		c.t = t
		c.checkApex(other)
	})
	t.Run("long zone", func(t *testing.T) {
		c.t = t
		c.checkLong()
	})
}

// call is the context key of the module's calls.
type call struct{}

// watchContexts makes each request fail that a module sends without the context of its call: it would bypass
// the provider's transport and could not be cancelled. The default transport stays an [http.Transport], as in
// package route.
func watchContexts(t *testing.T) {
	usual := http.DefaultTransport.(*http.Transport)
	front, next := usual.Clone(), guard{&watched{usual, t}}
	front.RegisterProtocol("http", next)
	front.RegisterProtocol("https", next)
	http.DefaultTransport = front
	t.Cleanup(func() { http.DefaultTransport = usual })
}

// guard is a transport for requests with the context of a call. It has a single exported field for the reason
// given in package route.
type guard struct{ Next *watched }

type watched struct {
	*http.Transport
	t *testing.T
}

// RoundTrip implements [http.RoundTripper].
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Context().Value(call{}) == nil {
		g.Next.t.Errorf("the module sends %s %s without the context of the call", req.Method, req.URL)
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errors.New("not sent")
	}
	return g.Next.RoundTrip(req)
}

// conversation is a sequence of calls to a module.
type conversation struct {
	t      *testing.T
	ctx    context.Context
	module module.Module
	client module.Client
	store  *Store
}

// check is the contract for one type.
func (c *conversation) check(recordType string, other lib.Record) {
	name := map[string]string{dns.TypeSRV: "_sip._tcp"}[recordType]
	if name == "" {
		name = "www"
	}
	one, two := c.record(name, recordType, samples[recordType][0]), c.record(name, recordType, samples[recordType][1])
	single := recordType == dns.TypeCNAME || recordType == dns.TypeDNAME
	zone := zoneName + "."
	c.must(c.client.AppendRecords(c.ctx, zone, []lib.Record{one}))
	c.expect("append", other, one)
	if !single {
		c.must(c.client.AppendRecords(c.ctx, zone, []lib.Record{two}))
		c.expect("append another one", other, one, two)
		c.must(c.client.DeleteRecords(c.ctx, zone, c.listed(two)))
		c.expect("delete one of two", other, one)
	}
	if c.module.Replacing != module.NotReplacing {
		c.must(c.client.SetRecords(c.ctx, zone, []lib.Record{two}))
		c.expect("set", other, two)
	}
	var left []lib.Record
	for _, r := range c.get() {
		if r.RR().Name == name {
			left = append(left, r)
		}
	}
	c.must(c.client.DeleteRecords(c.ctx, zone, left))
	c.expect("delete", other)
}

// checkApex is the contract for the name of the zone itself, which services write in many ways.
func (c *conversation) checkApex(other lib.Record) {
	zone := zoneName + "."
	one := c.record("@", dns.TypeA, samples[dns.TypeA][0])
	c.must(c.client.AppendRecords(c.ctx, zone, []lib.Record{one}))
	c.expect("append at the apex", other, one)
	c.must(c.client.DeleteRecords(c.ctx, zone, c.listed(one)))
	c.expect("delete at the apex", other)
}

// longZone is the number of records of a long zone: more than usually fit on a page.
const longZone = 120

// checkLong checks that the module lists a whole zone. Records that it doesn't list would be taken for
// missing, and overwritten.
func (c *conversation) checkLong() {
	for i := range longZone {
		r := Record{Name: fmt.Sprint("n", i), Type: dns.TypeA, Data: fmt.Sprint("192.0.2.", i), TTL: c.ttl()}
		if _, err := c.store.Add(zoneName, r); err != nil {
			c.t.Fatal(err)
		}
	}
	if got, want := len(c.get()), c.store.Size(zoneName); got != want {
		c.t.Fatalf("the module lists %d records of %d", got, want)
	}
}

// record returns a record as the provider passes it to the module, with a TTL that the module stores.
func (c *conversation) record(name, recordType, data string) lib.Record {
	if recordType == dns.TypeTXT && c.module.Texts == module.QuotedTexts {
		data = dns.QuoteString(data)
	}
	if c.module.Hosts == module.BareHosts {
		data = strings.TrimSuffix(data, ".")
	}
	r, err := lib.RR{Name: name, Type: recordType, TTL: time.Duration(c.ttl()) * time.Second, Data: data}.Parse()
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *conversation) ttl() int64 { return c.module.TTL(3600) }

func (c *conversation) must(_ []lib.Record, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) get() []lib.Record {
	c.t.Helper()
	list, err := c.client.GetRecords(c.ctx, zoneName+".")
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// listed returns a record as the module lists it.
func (c *conversation) listed(wanted lib.Record) []lib.Record {
	c.t.Helper()
	list := c.get()
	i := slices.IndexFunc(list, func(r lib.Record) bool { return c.show(r) == c.show(wanted) })
	if i < 0 {
		c.t.Fatalf("%s isn't listed", c.show(wanted))
	}
	return list[i : i+1]
}

// show returns a comparable form of a record, without the optional trailing dots of hosts.
func (c *conversation) show(r lib.Record) string {
	rr := r.RR()
	data := strings.TrimSuffix(rr.Data, ".")
	if rr.Type == dns.TypeTXT && c.module.Texts == module.QuotedTexts {
		data = strings.Trim(data, `"`)
	}
	return fmt.Sprintf("%s %s %v %s", rr.Name, rr.Type, rr.TTL, data)
}

// expect compares the module's listing and the server's records with wanted.
func (c *conversation) expect(after string, wanted ...lib.Record) {
	c.t.Helper()
	var got, want []string
	for _, r := range c.get() {
		got = append(got, c.show(r))
	}
	for _, r := range wanted {
		want = append(want, c.show(r))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || c.store.Size(zoneName) != len(want) {
		c.t.Fatalf("after %s the module lists\n\t%s\nwant\n\t%s\nthe server has %v", after, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), c.store.List(zoneName))
	}
}

package providertest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/longtest"
)

// setIdentifiers has two record sets of one name and type that only their identifiers distinguish. A provider
// without set identifiers must remove them in Adjust (D8: PowerDNS and CoreDNS kept them, and never listed
// one, so that a record was created again for ever).
func setIdentifiers(t *testing.T, o Options) {
	z := open(t, o, forward)
	blue, green := address("www", "192.0.2.1").recordSet(z.name), address("www", "192.0.2.2").recordSet(z.name)
	blue.SetIdentifier, green.SetIdentifier = "blue", "green"
	if !z.p.Capabilities().SetIdentifiers {
		z.become([]*dns.RecordSet{blue})
		for k := range z.current() {
			if k.SetIdentifier != "" {
				t.Errorf("%v is listed, although Capabilities says that there are no set identifiers", k)
			}
		}
		return
	}
	changed := blue.Clone()
	changed.Targets = []string{"192.0.2.3"}
	for _, wanted := range [][]*dns.RecordSet{{blue, green}, {changed, green}, {green}, nil} {
		z.become(wanted)
	}
}

// properties has record sets with properties of the provider, of another provider, and of none. The
// properties that Adjust keeps must be listed, changed and removed.
func properties(t *testing.T, o Options) {
	z := open(t, o, forward)
	for _, name := range append(o.Properties, dns.PropertyAlias, "elsewhere/weight") {
		for _, value := range []string{"true", "other", ""} {
			r := alias("www", "lb.example.net").recordSet(z.name)
			if value != "" {
				r.Properties = []dns.Property{{Name: name, Value: value}}
			}
			adjusted := z.adjust([]*dns.RecordSet{r})
			if kept, _ := adjusted[0].Property(name); strings.Contains(name, "/") && name != "elsewhere/weight" && kept != value {
				t.Errorf("the property %s is %q, and becomes %q", name, value, kept)
			}
			z.become([]*dns.RecordSet{r})
		}
	}
	for _, name := range o.Properties {
		if dns.RetainProperties([]dns.Property{{Name: name}}, z.p.Capabilities().Properties) == nil {
			t.Errorf("Capabilities has no prefix for the property %s", name)
		}
	}
}

// adjustEach passes record sets to Adjust of which the provider refuses some. The others must get a result
// (D1).
func adjustEach(t *testing.T, o Options) {
	z := open(t, o, forward)
	a, ok := z.p.(provider.Adjuster)
	if !ok {
		return
	}
	before, after := address("before", "192.0.2.1").recordSet(z.name), address("zz", "192.0.2.2").recordSet(z.name)
	wanted := append([]*dns.RecordSet{before}, o.Rejects(z.name)...)
	wanted = append(wanted, after)
	answers, err := a.Adjust(t.Context(), z.zone, wanted)
	if err != nil || len(answers) != len(wanted) {
		t.Fatalf("Adjust: %d answers about %d record sets, %v", len(answers), len(wanted), err)
	}
	for _, i := range []int{0, len(wanted) - 1} {
		if answers[i].Err != nil || len(answers[i].Sets) != 1 || difference(answers[i].Sets[0], wanted[i]) != "" {
			t.Errorf("Adjust %s beside what is refused: %v, %v", show(wanted[i]), answers[i].Sets, answers[i].Err)
		}
	}
	for i, answer := range answers {
		if answer.Err != nil && len(answer.Sets) > 0 {
			t.Errorf("Adjust %s: it is refused, and adjusted to %v", show(wanted[i]), answer.Sets)
		}
	}
}

// childZone has a zone below the zone. Records of the child must not be listed in the zone above, and can't
// be changed there.
func childZone(t *testing.T, o Options) {
	z := open(t, o, forward)
	if z.fixture.Child == "" || z.zone.Name == "" {
		return
	}
	child := *z
	child.name = z.fixture.Child
	child.zone = child.find()
	child.background = child.records(child.p)
	www := address("www", "192.0.2.1")
	child.become([]*dns.RecordSet{www.recordSet(child.name)})
	z.expect(nil)
	z.refused([]dns.Change{
		{New: address("ok", "192.0.2.1").recordSet(z.name)}, {New: address("api", "192.0.2.1").recordSet(child.name)},
	}, 1)
	child.expect(child.adjust([]*dns.RecordSet{www.recordSet(child.name)}))
	if made := z.current(); len(made) > 0 {
		z.become(nil)
	}
	child.become(nil)
}

// twins has two zones of one name, such as a public and a private one. Each must have its own records.
func twins(t *testing.T, o Options) {
	if o.Twins == nil {
		return
	}
	f := o.Twins(t, Input())
	zones, err := f.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var both []*zone
	for _, found := range zones {
		if dns.Canonical(found.Name) == f.Zone {
			z := &zone{t: t, fixture: f, p: f.Provider, name: f.Zone, zone: found}
			z.background = z.records(z.p)
			both = append(both, z)
		}
	}
	if len(both) != 2 || both[0].zone.ID == both[1].zone.ID {
		t.Fatalf("Zones: %v, want two of the name %s with different IDs", zones, f.Zone)
	}
	first, second := address("www", "192.0.2.1").recordSet(f.Zone), address("www", "192.0.2.2").recordSet(f.Zone)
	both[0].become([]*dns.RecordSet{first})
	both[1].expect(nil)
	both[1].become([]*dns.RecordSet{second})
	both[0].expect(both[0].adjust([]*dns.RecordSet{first}))
	both[0].become(nil)
	both[1].expect(both[1].adjust([]*dns.RecordSet{second}))
}

// throttling makes a server over HTTP respond that there are too many requests. Nothing may be applied, and
// the error must have the retry time (D17). All requests must name this program.
func throttling(t *testing.T, o Options) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		busy := &busyServer{t: t, status: status}
		in := Input()
		in.Wrap = func(next http.RoundTripper) http.RoundTripper {
			busy.next = next
			return busy
		}
		f := o.Open(t, in)
		z := &zone{t: t, fixture: f, p: f.Provider, name: f.Zone}
		z.zone = z.find()
		z.background = z.records(z.p)
		if busy.next == nil {
			return // The provider doesn't use HTTP, or not through Wrap.
		}
		for _, writes := range []bool{true, false} {
			busy.start(writes)
			err := z.p.Apply(t.Context(), z.zone, []dns.Change{{New: address("www", "192.0.2.1").recordSet(z.name)}})
			throttled, ok := errors.AsType[*provider.ThrottledError](err)
			if made, known := outcome(err, 1); !ok || !known || made[0] || throttled.After != time.Hour {
				t.Errorf("Apply, and the server answers %d: %v, want a ThrottledError of an hour", status, err)
			}
			if _, err := z.p.Records(t.Context(), z.zone); !writes && !errors.Is(err, provider.ErrThrottled) {
				t.Errorf("Records, and the server answers %d: %v, want ErrThrottled", status, err)
			}
			busy.stop()
			if f.Reopen != nil {
				z.p = f.Reopen(t) // This provider may send nothing for an hour.
			}
			z.expect(nil)
		}
	}
}

// busyServer is a transport that responds for a server with too many requests.
type busyServer struct {
	t      *testing.T
	next   http.RoundTripper
	status int
	// all makes all requests fail, and writing those that may change something.
	all, writing atomic.Bool
}

func (b *busyServer) start(writes bool) {
	b.all.Store(!writes)
	b.writing.Store(writes)
}

func (b *busyServer) stop() {
	b.all.Store(false)
	b.writing.Store(false)
}

// RoundTrip implements [http.RoundTripper].
func (b *busyServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if agent := req.UserAgent(); !strings.Contains(agent, "signpost/") {
		b.t.Errorf("%s %s has the User-Agent %q", req.Method, req.URL, agent)
	}
	if !b.all.Load() && (!b.writing.Load() || req.Method == http.MethodGet) {
		return b.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return &http.Response{
		StatusCode: b.status, Header: http.Header{"Retry-After": {"3600"}}, Body: io.NopCloser(strings.NewReader("busy")), Request: req,
	}, nil
}

// races is how often two writers meet.
const races = 20

// conditional has two writers create one record set with different targets at the same moment. If the server
// writes conditionally, one of them must fail as too late.
func conditional(t *testing.T, o Options) {
	z := open(t, o, forward)
	if !z.p.Capabilities().Conditional {
		return
	}
	writers := []*zone{z, z.otherWriter()}
	for range longtest.Rounds(races) {
		z.become(nil)
		sets := []*dns.RecordSet{address("www", "192.0.2.1").recordSet(z.name), address("www", "192.0.2.2").recordSet(z.name)}
		errs := make([]error, len(writers))
		var group sync.WaitGroup
		for i, w := range writers {
			group.Go(func() { errs[i] = w.p.Apply(t.Context(), w.zone, []dns.Change{{New: sets[i]}}) })
		}
		group.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		if errs[winner] != nil || !errors.Is(errs[1-winner], provider.ErrStale) {
			t.Fatalf("two writers: %v and %v, want success and ErrStale", errs[0], errs[1])
		}
		z.expect(z.adjust(sets[winner : winner+1]))
	}
}

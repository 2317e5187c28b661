package validate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/testkit/bindtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// randomUpdate returns a message that adds and removes records of a few names. Some have a prerequisite.
func randomUpdate(random *rand.Rand) *dns.Msg {
	m := new(dns.Msg)
	m.SetUpdate("lab.example.")
	for range 1 + random.IntN(3) {
		name := []string{"one", "Two", "three.two"}[random.IntN(3)] + ".lab.example."
		data := []string{
			"A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1", "CNAME Target.example.org.", "CNAME other.example.org.", "MX 10 mail.example.org.",
			`TXT "some text; with a \" in it"`, `TXT "in" "parts"`,
		}[random.IntN(8)]
		rr, err := dns.NewRR(fmt.Sprintf("%s %d IN %s", name, 60*(1+random.IntN(3)), data))
		if err != nil {
			panic(err)
		}
		if random.IntN(4) == 0 {
			prerequire(m, rr, random)
		}
		switch random.IntN(7) {
		case 0:
			m.Remove([]dns.RR{rr})
		case 1:
			m.RemoveRRset([]dns.RR{rr})
		case 2:
			m.RemoveName([]dns.RR{rr})
		default:
			m.Insert([]dns.RR{rr})
		}
	}
	return m
}

// prerequire adds a prerequisite of a random kind about a record.
func prerequire(m *dns.Msg, rr dns.RR, random *rand.Rand) {
	about := []dns.RR{dns.Copy(rr)}
	switch random.IntN(5) {
	case 0:
		m.NameUsed(about)
	case 1:
		m.NameNotUsed(about)
	case 2:
		m.RRsetUsed(about)
	case 3:
		m.RRsetNotUsed(about)
	default:
		m.Used(about)
	}
}

// serials returns the changes of a server since a serial.
func serials(t *testing.T, server string, since uint32) []history.Zone {
	t.Helper()
	ask := new(dns.Msg)
	ask.SetIxfr("lab.example.", since, "ns.lab.example.", "admin.lab.example.")
	envelopes, err := new(dns.Transfer).In(ask, server)
	if err != nil {
		t.Fatal(err)
	}
	var all []dns.RR
	for e := range envelopes {
		if e.Error != nil {
			t.Fatal(e.Error)
		}
		all = append(all, e.RR...)
	}
	if len(all) > 1 && all[1].Header().Rrtype != dns.TypeSOA {
		t.Fatalf("the server has sent all of the zone instead of what has changed since %d", since)
	}
	var out []history.Zone
	removing := false
	for _, rr := range all[1:max(1, len(all)-1)] {
		if soa, ok := rr.(*dns.SOA); ok {
			if removing = !removing; removing {
				out = append(out, history.Zone{Name: "lab.example."})
			} else {
				out[len(out)-1].Serial = soa.Serial
			}
			continue
		}
		z := &out[len(out)-1]
		if removing {
			z.Removed = append(z.Removed, rr.String())
		} else {
			z.Added = append(z.Added, rr.String())
		}
	}
	return out
}

// TestAuthors shows that the author of each serial of a real name server is found, because the effect of each
// update is predicted.
func TestAuthors(t *testing.T) {
	s := bindtest.Serve(t, bindtest.Config{Zones: []bindtest.Zone{{Name: "lab.example"}}, Options: "max-ixfr-ratio unlimited;"})
	random := rand.New(rand.NewPCG(1, 2))
	h := history.History{Setup: history.Setup{Zones: []string{"lab.example."}}}
	h.Entries = []history.Entry{{At: 1, Zone: &history.Zone{Name: "lab.example.", Serial: bindtest.Serial, Whole: true}}}
	now, last := time.Second, uint32(bindtest.Serial)
	wanted := map[uint32]string{}
	for n := range 300 {
		author := []string{"replica-a", "replica-b", history.Person}[random.IntN(3)]
		m := randomUpdate(random)
		wire, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		reply, _, err := new(dns.Client).ExchangeContext(t.Context(), m, s.Addr.String())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, rr := range m.Ns {
			names = append(names, rr.Header().Name)
		}
		now += time.Second
		h.Entries = append(h.Entries, history.Entry{At: now, Write: &history.Write{
			Replica: author, Status: reply.Rcode, Responded: now + time.Millisecond, Update: &history.UpdateWrite{Zone: "lab.example.", Names: names, Message: wire},
		}})
		seen := serials(t, s.Addr.String(), last)
		if serial := last + uint32(len(seen)); wanted[serial] == "" {
			wanted[serial] = author
		}
		// The witness has seen several serials late, at once.
		if n%5 != 4 {
			continue
		}
		for _, z := range seen {
			now += time.Millisecond
			h.Entries = append(h.Entries, history.Entry{At: now, Zone: &z})
			last = z.Serial
		}
	}
	c := newRecordCheck(h, "lab.example.")
	known, right := 0, 0
	for _, e := range h.Entries {
		if e.Zone == nil || e.Zone.Whole {
			continue
		}
		d, err := deltaOf(*e.Zone)
		if err != nil {
			t.Fatal(err)
		}
		author := c.authors.authorOf(c.state, d, e.At)
		if author == unknownAuthor {
			t.Errorf("serial %d (%v, %v) is nobody's", e.Zone.Serial, e.Zone.Removed, e.Zone.Added)
		}
		known++
		if author == wanted[e.Zone.Serial] {
			right++
		}
		c.state.apply(d)
	}
	// Two concurrent updates may ask for the same change.
	if known < 150 || right < known*98/100 {
		t.Errorf("of %d serials the authors of %d are right", known, right)
	}
}

// TestPrerequisites shows that a real name server and the prediction agree on whether prerequisites hold.
func TestPrerequisites(t *testing.T) {
	s := bindtest.Serve(t, bindtest.Config{Zones: []bindtest.Zone{{Name: "lab.example"}}, Options: "max-ixfr-ratio unlimited;"})
	random := rand.New(rand.NewPCG(3, 4))
	state, last := zoneState{}, uint32(bindtest.Serial)
	held, failed := 0, 0
	for range 300 {
		m := randomUpdate(random)
		reply, _, err := new(dns.Client).ExchangeContext(t.Context(), m, s.Addr.String())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := state.satisfies(m.Answer), reply.Rcode == dns.RcodeSuccess; got != want {
			t.Fatalf("the server's response is %s, predicted %t, with %v of %v", dns.RcodeToString[reply.Rcode], got, m.Answer, state)
		}
		switch {
		case reply.Rcode != dns.RcodeSuccess:
			failed++
		case len(m.Answer) > 0:
			held++
		}
		for _, z := range serials(t, s.Addr.String(), last) {
			d, err := deltaOf(z)
			if err != nil {
				t.Fatal(err)
			}
			state.apply(d)
			last = z.Serial
		}
	}
	if held < 20 || failed < 20 {
		t.Errorf("of 300 updates, the prerequisites of %d held and of %d did not; want at least 20 of each", held, failed)
	}
}

// TestLostUpdateWithPrerequisite shows that an update whose response was lost isn't taken for the author of a later
// change that its prerequisite rules out.
func TestLostUpdateWithPrerequisite(t *testing.T) {
	rr, err := dns.NewRR("one.lab.example. 300 IN A 192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	note, err := dns.NewRR(`a-one.lab.example. 0 IN TXT "note"`)
	if err != nil {
		t.Fatal(err)
	}
	update := func(author string, at time.Duration, status int, prerequisite dns.RR) history.Entry {
		m := new(dns.Msg)
		m.SetUpdate("lab.example.")
		m.Used([]dns.RR{dns.Copy(prerequisite)})
		m.RemoveRRset([]dns.RR{dns.Copy(rr)})
		wire, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return history.Entry{At: at, Write: &history.Write{
			Replica: author, Status: status, Responded: at + time.Millisecond, Update: &history.UpdateWrite{Zone: "lab.example.", Names: []string{"one.lab.example."}, Message: wire},
		}}
	}
	h := history.History{Setup: history.Setup{Zones: []string{"lab.example."}}, Entries: []history.Entry{
		update("replica-a", time.Second, -1, note),
		update(history.Person, time.Minute, dns.RcodeSuccess, rr),
	}}
	record := recordOf(rr)
	state := zoneState{}
	state.add(record)
	if got := newAuthors(h, "lab.example.").authorOf(state, zoneDelta{removed: []zoneRecord{record}}, 2*time.Minute); got != history.Person {
		t.Errorf("author %q, want the person", got)
	}
}

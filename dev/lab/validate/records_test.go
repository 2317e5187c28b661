package validate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// zoneRun makes histories of a zone. Each update is a second after the one before.
type zoneRun struct {
	now     time.Duration
	serial  uint32
	entries []history.Entry
}

const labOwnership = `TXT "heritage=external-dns,external-dns/owner=lab,external-dns/resource=service/lab/lb-0"`

// whole adds the whole zone, as read at the beginning.
func (r *zoneRun) whole(records ...string) {
	r.serial++
	r.add(history.Entry{Zone: &history.Zone{Name: "lab.example.", Serial: r.serial, Added: full(records), Whole: true}})
}

// full expands "www A 1.2.3.4" to full records.
func full(records []string) []string {
	out := make([]string, len(records))
	for n, text := range records {
		var name string
		var rest string
		fmt.Sscanf(text, "%s", &name)
		rest = text[len(name):]
		rr, err := dns.NewRR(name + ".lab.example. 300 IN" + rest)
		if err != nil {
			panic(err)
		}
		out[n] = rr.String()
	}
	return out
}

func (r *zoneRun) add(e history.Entry) {
	r.now += time.Second
	e.At = r.now
	r.entries = append(r.entries, e)
}

// update adds an update and the serial that it made.
func (r *zoneRun) update(author string, removed, added []string) {
	r.message(author, dns.RcodeSuccess, removed, added)
	r.made(removed, added)
}

// made adds a serial.
func (r *zoneRun) made(removed, added []string) {
	r.serial++
	r.add(history.Entry{Zone: &history.Zone{Name: "lab.example.", Serial: r.serial, Removed: full(removed), Added: full(added)}})
}

// message adds an update.
func (r *zoneRun) message(author string, status int, removed, added []string) {
	m := new(dns.Msg)
	m.SetUpdate("lab.example.")
	var names []string
	for n, text := range slices.Concat(full(removed), full(added)) {
		rr, err := dns.NewRR(text)
		if err != nil {
			panic(err)
		}
		if n < len(removed) {
			m.Remove([]dns.RR{rr})
		} else {
			m.Insert([]dns.RR{rr})
		}
		names = append(names, rr.Header().Name)
	}
	wire, err := m.Pack()
	if err != nil {
		panic(err)
	}
	answered := r.now + time.Second + 10*time.Millisecond
	if status < 0 {
		answered = 0
	}
	r.add(history.Entry{Write: &history.Write{Replica: author, Status: status, Responded: answered, Update: &history.UpdateWrite{Zone: "lab.example.", Names: names, Message: wire}}})
}

func (r *zoneRun) calm() { r.add(history.Entry{Calm: &history.Calm{}}) }

func (r *zoneRun) history() history.History {
	return history.History{Setup: history.Setup{Namespace: "lab", Zones: []string{"lab.example."}, Owner: "lab"}, Entries: r.entries}
}

func TestUnownedRecords(t *testing.T) {
	const (
		lb, ownership  = "lb-0 A 192.0.2.1", "a-lb-0 " + labOwnership
		person         = "human-0 A 198.51.100.1"
		otherOwnership = `a-other-0 TXT "heritage=external-dns,external-dns/owner=somebody"`
		otherOwner     = `a-lb-0 TXT "heritage=external-dns,external-dns/owner=somebody"`
	)
	all := func(records ...string) []string { return records }
	tests := []struct {
		name string
		play func(r *zoneRun)
		want string
	}{
		{"record and ownership record at once", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update("replica-b", all(lb, ownership), nil)
		}, ""},
		{"ownership record before, ownership record after", func(r *zoneRun) {
			r.update("replica-a", nil, all(ownership))
			r.update("replica-a", nil, all(lb))
			r.update("replica-a", all(lb), nil)
			r.update("replica-a", all(ownership), nil)
		}, ""},
		{"record before its ownership record", func(r *zoneRun) { r.update("replica-a", nil, all(lb)); r.update("replica-a", nil, all(ownership)) }, "without an ownership record"},
		{"ownership record goes first", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update("replica-a", all(ownership), nil)
			r.update("replica-a", all(lb), nil)
		}, "without an ownership record"},
		{"changes its record", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update("replica-a", all(lb), all("lb-0 A 192.0.2.2"))
		}, ""},
		{"changes a record of the beginning", func(r *zoneRun) { r.update("replica-a", all("first A 203.0.113.1"), nil) }, "it isn't Signpost's"},
		{"changes a record of the person", func(r *zoneRun) {
			r.update(history.Person, nil, all(person))
			r.update("replica-a", nil, all("human-0 A 192.0.2.9"))
		}, "it isn't Signpost's"},
		{"the person changes that of the beginning", func(r *zoneRun) { r.update(history.Person, all("first A 203.0.113.1"), all(person)) }, ""},
		{"claims a record of the person", func(r *zoneRun) {
			r.update(history.Person, nil, all("lb-0 A 192.0.2.1"))
			r.update("replica-a", nil, all(ownership))
		}, "marked it as its own"},
		{"removes the ownership record of another owner", func(r *zoneRun) { r.update("replica-a", all(otherOwnership), nil) }, "it isn't Signpost's"},
		{"two ownership records at a name", func(r *zoneRun) {
			r.update(history.Person, nil, all(otherOwner))
			r.update("replica-a", nil, all(lb, ownership))
		}, `beside the one of owner "somebody"`},
		{"another type of a name that another owner has", func(r *zoneRun) {
			r.update("replica-a", nil, all("other-0 AAAA 2001:db8::1", "aaaa-other-0 "+labOwnership))
		}, `which owner "somebody" has had`},
		{"corrects what the person did to its record", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update(history.Person, all(lb), all("lb-0 A 198.51.100.7"))
			r.update("replica-a", all("lb-0 A 198.51.100.7"), all(lb))
		}, ""},
		{"the person takes a name", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update(history.Person, all(lb, ownership), all("lb-0 A 198.51.100.7"))
			r.update("replica-a", all("lb-0 A 198.51.100.7"), nil)
		}, "it isn't Signpost's"},
		{"another type beside that of the person", func(r *zoneRun) {
			r.update("replica-a", nil, all("first AAAA 2001:db8::1", "aaaa-first "+labOwnership))
		}, ""},
		{"an ownership record in the old format", func(r *zoneRun) { r.update("replica-a", nil, all(lb, "lb-0 "+labOwnership)) }, ""},
		{"the old format isn't for AAAA", func(r *zoneRun) {
			r.update("replica-a", nil, all("lb-0 AAAA 2001:db8::1", "lb-0 A 192.0.2.1", "lb-0 "+labOwnership))
		}, "lb-0.lab.example. AAAA"},
		{"text without an ownership record", func(r *zoneRun) { r.update("replica-a", nil, all(`note TXT "hello"`)) }, "without an ownership record"},
		{"text with an ownership record", func(r *zoneRun) { r.update("replica-a", nil, all(`note TXT "hello"`, "txt-note "+labOwnership)) }, ""},
		{"nobody asked for it", func(r *zoneRun) { r.made(nil, all(lb, ownership)) }, "no update was seen"},
		{"what was asked for is something else", func(r *zoneRun) {
			r.message("replica-a", dns.RcodeSuccess, nil, all("lb-0 A 192.0.2.2"))
			r.made(nil, all(lb))
		}, "no update was seen"},
		{"a refused update changes nothing", func(r *zoneRun) {
			r.message(history.Person, dns.RcodeYXRrset, nil, all(lb))
			r.made(nil, all(lb))
		}, "no update was seen"},
		{"an update without response", func(r *zoneRun) {
			r.message("replica-a", -1, nil, all(lb, ownership))
			r.made(nil, all(lb, ownership))
		}, ""},
		{"two at the same time", func(r *zoneRun) {
			r.message(history.Person, dns.RcodeSuccess, nil, all(lb))
			r.message("replica-a", dns.RcodeSuccess, all("lb-0 A 192.0.2.7"), nil)
			r.made(nil, all(lb))
		}, ""},
		{"an ownership record that is left behind", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update("replica-a", all(lb), nil)
			r.calm()
		}, "has no record any more"},
		{"an ownership record that is left behind for a while", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.update("replica-a", all(lb), nil)
			r.update("replica-b", all(ownership), nil)
			r.calm()
		}, ""},
		{"the zone is read again", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, ownership))
			r.whole("first A 203.0.113.1", otherOwnership, "other-0 A 203.0.113.2", lb, ownership)
			r.update("replica-a", all(lb, ownership), nil)
		}, ""},
		{"a record of others is gone when it is read again", func(r *zoneRun) {
			r.whole(otherOwnership, "other-0 A 203.0.113.2")
		}, "is gone at serial 2"},
		{"no record", func(r *zoneRun) {
			r.add(history.Entry{Zone: &history.Zone{Name: "lab.example.", Serial: 9, Added: []string{"lb-0 IN A 192.0.2.x"}}})
		}, "can't be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r zoneRun
			r.whole("first A 203.0.113.1", otherOwnership, "other-0 A 203.0.113.2")
			tt.play(&r)
			wantFinding(t, unownedRecords(), r.history(), tt.want)
		})
	}
}

package validate

import (
	"fmt"
	"math/rand/v2"
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
	names   bool // updates have no message, only names
	entries []history.Entry
}

const labMarker = `TXT "heritage=external-dns,external-dns/owner=lab,external-dns/resource=service/lab/lb-0"`

// whole is the zone as it is at the beginning.
func (r *zoneRun) whole(records ...string) {
	r.serial++
	r.add(history.Entry{Zone: &history.Zone{Name: "lab.example.", Serial: r.serial, Added: full(records), Whole: true}})
}

// full makes records of "www A 1.2.3.4".
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

// update adds an update, and the serial that it made.
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
	if r.names {
		wire = nil
	}
	answered := r.now + time.Second + 10*time.Millisecond
	if status < 0 {
		answered = 0
	}
	r.add(history.Entry{Write: &history.Write{Replica: author, Status: status, Answered: answered, Update: &history.UpdateWrite{Zone: "lab.example.", Names: names, Message: wire}}})
}

func (r *zoneRun) calm() { r.add(history.Entry{Calm: &history.Calm{}}) }

func (r *zoneRun) history() history.History {
	return history.History{Setup: history.Setup{Namespace: "lab", Zones: []string{"lab.example."}, Owner: "lab"}, Entries: r.entries}
}

func TestForeignRecords(t *testing.T) {
	const (
		lb, marker   = "lb-0 A 192.0.2.1", "a-lb-0 " + labMarker
		person       = "human-0 A 198.51.100.1"
		otherMarker  = `a-other-0 TXT "heritage=external-dns,external-dns/owner=somebody"`
		foreignOwner = `a-lb-0 TXT "heritage=external-dns,external-dns/owner=somebody"`
	)
	all := func(records ...string) []string { return records }
	tests := []struct {
		name string
		play func(r *zoneRun)
		want string
	}{
		{"record and marker at once", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.update("replica-b", all(lb, marker), nil)
		}, ""},
		{"marker before, marker after", func(r *zoneRun) {
			r.update("replica-a", nil, all(marker))
			r.update("replica-a", nil, all(lb))
			r.update("replica-a", all(lb), nil)
			r.update("replica-a", all(marker), nil)
		}, ""},
		{"record before its marker", func(r *zoneRun) { r.update("replica-a", nil, all(lb)); r.update("replica-a", nil, all(marker)) }, "without a marker"},
		{"marker goes first", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.update("replica-a", all(marker), nil)
			r.update("replica-a", all(lb), nil)
		}, "without a marker"},
		{"changes its record", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
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
			r.update("replica-a", nil, all(marker))
		}, "marked it as its own"},
		{"removes the marker of another owner", func(r *zoneRun) { r.update("replica-a", all(otherMarker), nil) }, "it isn't Signpost's"},
		{"two markers at a name", func(r *zoneRun) {
			r.update(history.Person, nil, all(foreignOwner))
			r.update("replica-a", nil, all(lb, marker))
		}, `beside the one of owner "somebody"`},
		{"another type of a name that another owner has", func(r *zoneRun) {
			r.update("replica-a", nil, all("other-0 AAAA 2001:db8::1", "aaaa-other-0 "+labMarker))
		}, `which owner "somebody" has had`},
		{"corrects what the person did to its record", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.update(history.Person, all(lb), all("lb-0 A 198.51.100.7"))
			r.update("replica-a", all("lb-0 A 198.51.100.7"), all(lb))
		}, ""},
		{"the person takes a name", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.update(history.Person, all(lb, marker), all("lb-0 A 198.51.100.7"))
			r.update("replica-a", all("lb-0 A 198.51.100.7"), nil)
		}, "it isn't Signpost's"},
		{"another type beside that of the person", func(r *zoneRun) {
			r.update("replica-a", nil, all("first AAAA 2001:db8::1", "aaaa-first "+labMarker))
		}, ""},
		{"a marker in the old format", func(r *zoneRun) { r.update("replica-a", nil, all(lb, "lb-0 "+labMarker)) }, ""},
		{"the old format isn't for AAAA", func(r *zoneRun) {
			r.update("replica-a", nil, all("lb-0 AAAA 2001:db8::1", "lb-0 A 192.0.2.1", "lb-0 "+labMarker))
		}, "lb-0.lab.example. AAAA"},
		{"text without a marker", func(r *zoneRun) { r.update("replica-a", nil, all(`note TXT "hello"`)) }, "without a marker"},
		{"text with a marker", func(r *zoneRun) { r.update("replica-a", nil, all(`note TXT "hello"`, "txt-note "+labMarker)) }, ""},
		{"nobody asked for it", func(r *zoneRun) { r.made(nil, all(lb, marker)) }, "no update was seen"},
		{"what was asked for is something else", func(r *zoneRun) {
			r.message("replica-a", dns.RcodeSuccess, nil, all("lb-0 A 192.0.2.2"))
			r.made(nil, all(lb))
		}, "no update was seen"},
		{"a refused update changes nothing", func(r *zoneRun) {
			r.message(history.Person, dns.RcodeYXRrset, nil, all(lb))
			r.made(nil, all(lb))
		}, "no update was seen"},
		{"an update without an answer", func(r *zoneRun) {
			r.message("replica-a", -1, nil, all(lb, marker))
			r.made(nil, all(lb, marker))
		}, ""},
		{"two at the same time", func(r *zoneRun) {
			r.message(history.Person, dns.RcodeSuccess, nil, all(lb))
			r.message("replica-a", dns.RcodeSuccess, all("lb-0 A 192.0.2.7"), nil)
			r.made(nil, all(lb))
		}, ""},
		{"a marker that is left behind", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.update("replica-a", all(lb), nil)
			r.calm()
		}, "has no record any more"},
		{"a marker that is left behind for a while", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.update("replica-a", all(lb), nil)
			r.update("replica-b", all(marker), nil)
			r.calm()
		}, ""},
		{"the zone is read again", func(r *zoneRun) {
			r.update("replica-a", nil, all(lb, marker))
			r.whole("first A 203.0.113.1", otherMarker, "other-0 A 203.0.113.2", lb, marker)
			r.update("replica-a", all(lb, marker), nil)
		}, ""},
		{"a record of others is gone when it is read again", func(r *zoneRun) {
			r.whole(otherMarker, "other-0 A 203.0.113.2")
		}, "is gone at serial 2"},
		{"no record", func(r *zoneRun) {
			r.add(history.Entry{Zone: &history.Zone{Name: "lab.example.", Serial: 9, Added: []string{"lb-0 IN A 192.0.2.x"}}})
		}, "can't be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r zoneRun
			r.whole("first A 203.0.113.1", otherMarker, "other-0 A 203.0.113.2")
			tt.play(&r)
			wantFinding(t, foreignRecords(), r.history(), tt.want)
		})
	}
}

// Names are enough to know who did it, as long as only one can have.
func TestForeignRecordsByNames(t *testing.T) {
	r := zoneRun{names: true}
	r.whole()
	r.update("replica-a", nil, []string{"lb-0 A 192.0.2.1", "a-lb-0 " + labMarker})
	r.update(history.Person, nil, []string{"human-0 A 192.0.2.1"})
	r.update(history.Person, []string{"human-0 A 192.0.2.1"}, nil)
	wantFinding(t, foreignRecords(), r.history(), "")
	r.update(history.Person, nil, []string{"human-0 A 192.0.2.1"})
	r.update("replica-a", []string{"human-0 A 192.0.2.1"}, nil)
	wantFinding(t, foreignRecords(), r.history(), "replica-a has with serial 6 changed it")

	// Several serials are seen at once.
	late := zoneRun{names: true}
	late.whole()
	for _, name := range []string{"human-0", "human-1", "human-0"} {
		late.message(history.Person, dns.RcodeSuccess, nil, []string{name + " A 192.0.2.1"})
	}
	late.made(nil, []string{"human-0 A 192.0.2.1"})
	late.made(nil, []string{"human-1 A 192.0.2.1"})
	late.made(nil, []string{"human-0 A 192.0.2.2"})
	wantFinding(t, foreignRecords(), late.history(), "")
}

// publishedRun simulates a publisher and a person in one zone. The lie, if there is one, is told about half way.
func publishedRun(seed uint64, steps int, lie string) history.History {
	random := rand.New(rand.NewPCG(seed, 3))
	r := &zoneRun{}
	const names = 12
	// What is at each name, and whose it is.
	type entry struct {
		data   string
		marked bool
		edited bool // by the person
	}
	var zone [names]entry
	r.whole("first A 203.0.113.1")
	record := func(n int, data string) string { return fmt.Sprintf("lb-%d A %s", n, data) }
	marker := func(n int) string { return fmt.Sprintf("a-lb-%d %s", n, labMarker) }
	address := func() string { return fmt.Sprintf("192.0.2.%d", 1+random.IntN(250)) }
	told := lie == ""
	for step := range steps {
		n := random.IntN(names)
		e := &zone[n]
		replica := []string{"replica-a", "replica-b"}[step*4/steps%2]
		if step > steps/2 && !told {
			told = tell(r, lie, replica, e.data != "", e.marked && !e.edited, e.edited, record(n, e.data), record(n, address()), marker(n))
			if told {
				return r.historyCalm()
			}
		}
		data := address()
		switch {
		case data == e.data:
		case random.IntN(4) == 0 && e.data == "":
			r.update(history.Person, nil, []string{record(n, data)})
			*e = entry{data: data}
		case random.IntN(4) == 0 && e.data != "" && !e.marked:
			r.update(history.Person, []string{record(n, e.data)}, nil)
			*e = entry{}
		case random.IntN(6) == 0 && e.data != "":
			r.update(history.Person, []string{record(n, e.data)}, []string{record(n, data)})
			e.data, e.edited = data, e.marked
		case e.data == "":
			r.update(replica, nil, []string{record(n, data), marker(n)})
			*e = entry{data: data, marked: true}
		case e.marked && random.IntN(3) == 0:
			r.update(replica, []string{record(n, e.data), marker(n)}, nil)
			*e = entry{}
		case e.marked:
			r.update(replica, []string{record(n, e.data)}, []string{record(n, data)})
			e.data, e.edited = data, false
		}
	}
	return r.historyCalm()
}

func (r *zoneRun) historyCalm() history.History { r.calm(); return r.history() }

// tell tells a lie, if it can be told of a name.
func tell(r *zoneRun, lie, replica string, exists, marked, edited bool, old, next, marker string) bool {
	switch {
	case lie == "record first" && !exists:
		r.update(replica, nil, []string{next})
		r.update(replica, nil, []string{marker})
	case lie == "marker goes first" && marked:
		r.update(replica, []string{marker}, nil)
		r.update(replica, []string{old}, nil)
	case lie == "foreign" && exists && !marked && !edited:
		r.update(replica, []string{old}, []string{next})
	case lie == "claim" && exists && !marked && !edited:
		r.update(replica, nil, []string{marker})
	case lie == "orphan" && marked:
		r.update(replica, []string{old}, nil)
	case lie == "unseen" && exists:
		r.made([]string{old}, []string{next})
	case lie == "beside" && !exists:
		r.update(history.Person, nil, []string{marker[:len(marker)-1] + `x,external-dns/owner=somebody"`})
		r.update(replica, nil, []string{next, marker})
	default:
		return false
	}
	return true
}

// A publisher that keeps to the rules is in the right; each lie is found, once.
func TestForeignRecordsRandomly(t *testing.T) {
	for seed := range uint64(10) {
		wantFinding(t, foreignRecords(), publishedRun(seed, 300, ""), "")
		for lie, want := range map[string]string{
			"record first": "without a marker", "marker goes first": "without a marker", "foreign": "isn't Signpost's", "claim": "as its own",
			"orphan": "has no record", "unseen": "no update was seen",
		} {
			h := publishedRun(seed, 300, lie)
			if findings := foreignRecords().Check(h); len(findings) == 0 {
				t.Errorf("seed %d: %q isn't found", seed, lie)
			} else {
				wantFinding(t, foreignRecords(), h, want)
			}
		}
	}
}

func BenchmarkForeignRecords(b *testing.B) {
	h := publishedRun(1, 100000, "")
	b.ReportMetric(float64(len(h.Entries)), "entries")
	for b.Loop() {
		foreignRecords().Check(h)
	}
}

package witness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/testkit/bindtest"
)

const secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

// fixture is a name server, and a witness of its zone.
type fixture struct {
	*testing.T
	server   *bindtest.Server
	recorder *history.Recorder
	config   ZoneConfig
}

func newFixture(t *testing.T, options, records string) *fixture {
	t.Helper()
	server := bindtest.Serve(t, bindtest.Config{
		Zones:   []bindtest.Zone{{Name: "lab.example", Key: "lab", Records: records}},
		Keys:    []bindtest.Key{{Name: "lab", Algorithm: "hmac-sha256", Secret: secret}},
		Options: options,
	})
	return &fixture{T: t, server: server, recorder: historytest.NewRecorder(t), config: ZoneConfig{
		Server: server.Addr.String(), Name: "Lab.Example", Key: &Key{"lab", "hmac-sha256", secret},
	}}
}

// watch starts a witness and waits until it has recorded the first serial.
func (w *fixture) watch() {
	w.Helper()
	background(w.T, NewZone(w.config, w.recorder).Run)
	w.await(bindtest.Serial)
}

// await waits until a serial is the last recorded one.
func (w *fixture) await(serial uint32) {
	w.Helper()
	eventually(w.T, func() string {
		if all := w.seen(); len(all) == 0 || all[len(all)-1].Serial != serial {
			return fmt.Sprintf("serial %d, after %d entries", serial, len(all))
		}
		return ""
	})
}

// update sends one message that removes and adds records.
func (w *fixture) update(remove, add []string) {
	w.Helper()
	m := new(mdns.Msg)
	m.SetUpdate("lab.example.")
	m.Remove(w.records(remove))
	m.Insert(w.records(add))
	m.SetTsig("lab.", mdns.HmacSHA256, 300, time.Now().Unix())
	client := &mdns.Client{Net: "tcp", TsigSecret: map[string]string{"lab.": secret}}
	reply, _, err := client.ExchangeContext(soon(w.T), m, w.server.Addr.String())
	if err != nil || reply.Rcode != mdns.RcodeSuccess {
		w.Fatalf("update: %v, %v", reply, err)
	}
}

func (w *fixture) records(texts []string) (records []mdns.RR) {
	w.Helper()
	for _, text := range texts {
		r, err := mdns.NewRR(text)
		if err != nil {
			w.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// seen returns the recorded entries.
func (w *fixture) seen() (all []history.Zone) {
	for _, e := range w.recorder.History().Entries {
		all = append(all, *e.Zone)
	}
	return all
}

func (w *fixture) want(want ...history.Zone) {
	w.Helper()
	if diff := cmp.Diff(want, w.seen()); diff != "" {
		w.Errorf("recorded (-want +got):\n%s", diff)
	}
}

const (
	apex = "lab.example. 300 IN NS ns.invalid."
	old  = "old.lab.example. 300 IN A 192.0.2.1"
)

// TestZone shows that each message of RFC 2136 is a serial and each serial an entry, however fast they come.
// Names are in lower case.
func TestZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, BINDOptions, "Old A 192.0.2.1\ntext TXT \"a  b\\009c\" \"D\"\nalias CNAME Target.Example.")
	w.watch()
	want := []history.Zone{{Name: "lab.example.", Serial: bindtest.Serial, Whole: true, Added: []string{
		"alias.lab.example. 300 IN CNAME target.example.", apex, old, `text.lab.example. 300 IN TXT "a  b\009c" "D"`,
	}}}
	w.want(want...)
	const edits = 50
	for i := range edits {
		name := fmt.Sprintf("web-%d.lab.example. 60 IN", i)
		w.update(nil, []string{name + " A 192.0.2.2", strings.ToUpper(name) + " A 192.0.2.3"})
		want = append(want, history.Zone{Name: "lab.example.", Serial: bindtest.Serial + uint32(i) + 1, Added: []string{name + " A 192.0.2.2", name + " A 192.0.2.3"}})
	}
	w.update([]string{old}, []string{"old.lab.example. 60 IN A 192.0.2.9"})
	want = append(want, history.Zone{
		Name: "lab.example.", Serial: bindtest.Serial + edits + 1, Removed: []string{old}, Added: []string{"old.lab.example. 60 IN A 192.0.2.9"},
	})
	w.await(bindtest.Serial + edits + 1)
	w.want(want...)
}

// TestZoneCatchesUp shows that serials from a time when the witness didn't run, or the server was
// unreachable, are recorded one by one.
func TestZoneCatchesUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, BINDOptions, "old A 192.0.2.1")
	w.watch()
	for i := range 3 {
		w.update(nil, []string{fmt.Sprintf("a-%d.lab.example. 60 IN A 192.0.2.2", i)})
	}
	if err := w.server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Restart(soon(t)); err != nil {
		t.Fatal(err)
	}
	w.update([]string{"a-1.lab.example. 60 IN A 192.0.2.2"}, nil)
	w.await(bindtest.Serial + 4)
	w.want(
		history.Zone{Name: "lab.example.", Serial: 100, Whole: true, Added: []string{apex, old}},
		history.Zone{Name: "lab.example.", Serial: 101, Added: []string{"a-0.lab.example. 60 IN A 192.0.2.2"}},
		history.Zone{Name: "lab.example.", Serial: 102, Added: []string{"a-1.lab.example. 60 IN A 192.0.2.2"}},
		history.Zone{Name: "lab.example.", Serial: 103, Added: []string{"a-2.lab.example. 60 IN A 192.0.2.2"}},
		history.Zone{Name: "lab.example.", Serial: 104, Removed: []string{"a-1.lab.example. 60 IN A 192.0.2.2"}},
	)
}

// TestZoneWithoutIXFR shows that missing serials of a server without IXFR are visible in the history.
func TestZoneWithoutIXFR(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "provide-ixfr no;", "old A 192.0.2.1")
	w.watch()
	w.update([]string{old}, nil)
	w.await(bindtest.Serial + 1)
	w.want(
		history.Zone{Name: "lab.example.", Serial: 100, Whole: true, Added: []string{apex, old}},
		history.Zone{Name: "lab.example.", Serial: 101, Whole: true, Added: []string{apex}},
	)
}

func TestChanges(t *testing.T) {
	soa := func(serial int) string { return fmt.Sprintf("z. 1 IN SOA ns. host. %d 1 1 1 1", serial) }
	const a, b = "a.z. 1 IN A 192.0.2.1", "b.z. 1 IN A 192.0.2.2"
	whole := history.Zone{Name: "z.", Serial: 12, Whole: true, Added: []string{a}}
	for name, tt := range map[string]struct {
		have    serial
		answer  []string
		want    []history.Zone
		problem string
	}{
		"nothing":            {serial{true, 12}, []string{soa(12)}, nil, ""},
		"whole at first":     {serial{}, []string{soa(12), a, soa(12)}, []history.Zone{whole}, ""},
		"whole of serial 0":  {serial{}, []string{soa(0), soa(0)}, []history.Zone{{Name: "z.", Whole: true}}, ""},
		"whole for a change": {serial{true, 10}, []string{soa(12), a, soa(12)}, []history.Zone{whole}, ""},
		"a step": {
			serial{true, 10},
			[]string{soa(12), soa(10), a, soa(12), b, soa(12)},
			[]history.Zone{{Name: "z.", Serial: 12, Removed: []string{a}, Added: []string{b}}},
			"",
		},
		"steps": {
			serial{true, 10},
			[]string{soa(12), soa(10), a, soa(11), soa(11), soa(12), b, soa(12)},
			[]history.Zone{{Name: "z.", Serial: 11, Removed: []string{a}}, {Name: "z.", Serial: 12, Added: []string{b}}},
			"",
		},
		"over the end of numbers": {
			serial{true, 1<<32 - 1},
			[]string{soa(3), soa(1<<32 - 1), a, soa(3), soa(3)},
			[]history.Zone{{Name: "z.", Serial: 3, Removed: []string{a}}},
			"",
		},
		"no SOA":        {serial{true, 10}, []string{a, soa(12)}, nil, "doesn't begin with an SOA"},
		"a gap":         {serial{true, 10}, []string{soa(12), soa(10), a, soa(11), soa(12), b, soa(12)}, nil, "don't lead from serial 11 to 12"},
		"backwards":     {serial{true, 10}, []string{soa(12), soa(10), a, soa(9), soa(12)}, nil, "don't lead from serial 10 to 12"},
		"beyond":        {serial{true, 10}, []string{soa(12), soa(10), a, soa(13), soa(12)}, nil, "don't lead from serial 10 to 12"},
		"half a change": {serial{true, 10}, []string{soa(12), soa(10), a}, nil, "don't lead from serial 10 to 12"},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := changes("z.", tt.have, (&fixture{T: t}).records(tt.answer))
			var got []history.Zone
			for _, e := range entries {
				got = append(got, *e.Zone)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("error %v, want %q", err, tt.problem)
			}
		})
	}
}

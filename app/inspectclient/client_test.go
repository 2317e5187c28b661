package inspectclient

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of processes that are named p0, p1 and so on, and its notes.
func newClient(t *testing.T, processes ...*inspecttest.Process) (*Client, *strings.Builder) {
	t.Helper()
	found := &portforward.Found{}
	for i, p := range processes {
		name := fmt.Sprintf("p%d", i)
		if p.Status != nil {
			p.Status.Process = name
		}
		found.Processes = append(found.Processes, portforward.Process{Name: name, Addr: p.Start(t)})
	}
	notes := &strings.Builder{}
	return New(found, 10*time.Second, notes), notes
}

func destination() *inspecttest.Process {
	return &inspecttest.Process{Status: &inspect.Status{Roles: []string{"destination"}, Ready: true, Started: time.Now()}}
}

// dnsProcess is a process with the role dns, which takes part in an election.
func dnsProcess(leading string) *inspecttest.Process {
	return &inspecttest.Process{Status: &inspect.Status{Roles: []string{"dns"}, Ready: true, Leading: []inspect.Leading{{Role: "dns", Leads: leading == "leads"}}}}
}

// printed returns the output of a result in a format.
func printed(t *testing.T, kind string, a output.Result) string {
	t.Helper()
	var out strings.Builder
	if err := output.Print(&out, output.Format{Kind: kind}, a); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got:\n%s\nwant:\n%s", what, got, want)
	}
}

// Each state of a server can be queried, and is counted.
func TestAllRecordStates(t *testing.T) {
	all := []inspect.Record{{Name: "a.example.org", Type: "A", State: inspect.RecordPublished}, {Name: "b.example.org", Type: "A", State: inspect.RecordUnwanted}}
	if got, want := recordResult(all, RecordFilter{}, time.Now()).Text, "\n2 records: published 1, unwanted 1.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Streams of all processes and pages are in one list.
func TestStreams(t *testing.T) {
	one, two := destination(), destination()
	opened := time.Now().Add(-time.Hour)
	for i := range 1200 {
		one.Streams = append(one.Streams, inspect.Stream{ID: fmt.Sprint(i), Method: "Get", Target: "a.shop.svc.cluster.local:80", Service: "shop/a", Pod: fmt.Sprintf("c-%04d", i), Namespace: "shop", Node: "n1", State: inspect.StreamSynced, Endpoints: 3, Sent: 3, Current: 3, Opened: opened})
	}
	two.Streams = []inspect.Stream{
		{ID: "1", Method: "Get", Target: "b.shop.svc.cluster.local:80", Service: "shop/b", Peer: "10.0.0.1:5", State: inspect.StreamBehind, Sent: 1, Current: 3, LagSeconds: 1.26, Opened: opened},
		{ID: "2", Method: "GetProfile", Target: "10.0.0.7:80", Peer: "10.0.0.1:5", State: inspect.StreamSynced, Opened: opened},
	}
	c, notes := newClient(t, one, two)
	a, err := c.Streams(t.Context(), StreamFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if all := a.Value.(inspect.StreamList); len(all.Streams) != 1202 || all.Total != 1202 || all.Streams[0].Process != "p1" || all.Streams[1].Process != "p0" || notes.Len() > 0 {
		t.Errorf("%d streams, the first of %s, notes %s", len(all.Streams), all.Streams[0].Process, notes)
	}
	a, err = c.Streams(t.Context(), StreamFilter{State: "behind"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "behind", printed(t, "table", a), "CLIENT      NODE  METHOD  TARGET                       STATE   ENDPOINTS  SENT  LAG\n"+
		"10.0.0.1:5  -     Get     b.shop.svc.cluster.local:80  BEHIND  0          1/3   1.3s\n\n1 stream, 1 of them not synced.\n")
	check(t, "names", printed(t, "name", a), "stream/p1/1\n")
	if a, err = c.Streams(t.Context(), StreamFilter{Namespace: "other"}); err != nil || printed(t, "table", a) != "No stream is open (filters: namespace=other).\n" {
		t.Errorf("%v, %s", err, printed(t, "table", a))
	}
}

// TestEmptyLists: an empty list names the filters that were given, and no others.
func TestEmptyLists(t *testing.T) {
	empty := destination()
	empty.Streams, empty.Services, empty.Problems = []inspect.Stream{}, []inspect.Service{}, []inspect.Problem{}
	for want, list := range map[string]func(*Client) (output.Result, error){
		"No stream is open.\n": func(c *Client) (output.Result, error) { return c.Streams(t.Context(), StreamFilter{}) },
		"No stream is open (filters: service=shop/web, state=behind).\n": func(c *Client) (output.Result, error) {
			return c.Streams(t.Context(), StreamFilter{Service: "shop/web", State: "behind"})
		},
		"No Service is served.\n": func(c *Client) (output.Result, error) { return c.Services(t.Context(), "", "") },
		"No Service is served (filters: namespace=shop, search=x).\n": func(c *Client) (output.Result, error) {
			return c.Services(t.Context(), "shop", "x")
		},
		"No object has a part that can't be used.\n": func(c *Client) (output.Result, error) { return c.Problems(t.Context(), "", "") },
		"No object has a part that can't be used (filters: namespace=shop).\n": func(c *Client) (output.Result, error) {
			return c.Problems(t.Context(), "shop", "")
		},
	} {
		c, _ := newClient(t, empty)
		if a, err := list(c); err != nil || printed(t, "table", a) != want {
			t.Errorf("%v, %q, want %q", err, printed(t, "table", a), want)
		}
	}
}

// The streams of an installation that serves xDS alone are listed, too.
func TestStreamsOfXDSAlone(t *testing.T) {
	c, _ := newClient(t, &inspecttest.Process{
		Status:  &inspect.Status{Roles: []string{"xds"}, Ready: true},
		Streams: []inspect.Stream{{ID: "1", Method: "ADS", Target: "web.shop:80", State: inspect.StreamSynced}},
	})
	a, err := c.Streams(t.Context(), StreamFilter{})
	if err != nil || len(a.Value.(inspect.StreamList).Streams) != 1 {
		t.Errorf("%v, %v", a.Value, err)
	}
}

// The failure of one process is a note.
func TestFailureOfOneProcess(t *testing.T) {
	one := destination()
	one.Streams = []inspect.Stream{}
	broken := destination()
	broken.Paths = map[string]http.Handler{inspect.StreamsPath: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":"too many requests\u001b[31m\nat a time: try again"}`)
	})}
	old := &inspecttest.Process{}
	c, notes := newClient(t, one, broken, old, dnsProcess("leads"))
	if _, err := c.Streams(t.Context(), StreamFilter{}); err != nil {
		t.Fatal(err)
	}
	check(t, "notes", notes.String(), "signpost: note: p2: ask for the status: this process doesn't have the role\n"+
		"signpost: note: p1: ask for streams: too many requests\\u001b[31m at a time: try again\n")
}

func TestErrors(t *testing.T) {
	serving := func(f http.HandlerFunc) *inspecttest.Process {
		return &inspecttest.Process{Paths: map[string]http.Handler{inspect.StatusPath: f}}
	}
	for name, test := range map[string]struct {
		p    *inspecttest.Process
		want string
	}{
		"another role":   {dnsProcess("leads"), "has the role destination or xds: name another one"},
		"another server": {serving(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "what?", http.StatusNotFound) }), "the response is 404 Not Found: is that the admin server"},
		"text":           {serving(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }), "is that the admin server of a signpost of this version?"},
		"a redirect":     {serving(http.RedirectHandler("/ping", http.StatusFound).ServeHTTP), "302 Found"},
		"endless": {serving(func(w http.ResponseWriter, _ *http.Request) {
			for range maxResponse/1024 + 2 {
				_, _ = w.Write(make([]byte, 1024))
			}
		}), "longer than 16 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newClient(t, test.p)
			if _, err := c.Streams(t.Context(), StreamFilter{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %q", err, test.want)
			}
		})
	}
}

// The error for the port of a Destination API differs from that for an admin server (B5).
func TestMixedUpPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	c := New(&portforward.Found{Processes: []portforward.Process{{Name: "x", Addr: l.Addr().String()}}}, 10*time.Second, io.Discard)
	if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "is no admin server, but the port of a Destination API") {
		t.Errorf("got %v", err)
	}
}

// A server that doesn't respond costs the timeout and no more.
func TestSilentServer(t *testing.T) {
	release := make(chan struct{})
	silent := &inspecttest.Process{Paths: map[string]http.Handler{inspect.StatusPath: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })}}
	well := destination()
	c, notes := newClient(t, silent, well)
	defer close(release)
	c.timeout = 100 * time.Millisecond
	if _, err := c.Status(t.Context()); err != nil || !strings.Contains(notes.String(), "does not respond in time") {
		t.Errorf("%v, notes %s", err, notes)
	}
}

// A list without an end is read up to a limit.
func TestEndlessList(t *testing.T) {
	p := destination()
	n := 0
	p.Paths = map[string]http.Handler{inspect.ServicesPath: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		_, _ = fmt.Fprintf(w, `{"services":[{"namespace":"a","name":"s%d"}],"next":%d}`, n, n)
	})}
	c, notes := newClient(t, p)
	a, err := c.Services(t.Context(), "", "")
	if err != nil || len(a.Table.Rows) != maxPages || !strings.Contains(notes.String(), "only the first 100 of a process") {
		t.Errorf("%v, %d rows, notes %s", err, len(a.Table.Rows), notes)
	}
}

func TestServices(t *testing.T) {
	one, two := destination(), destination()
	one.Services = []inspect.Service{{Namespace: "shop", Name: "web", State: inspect.ServiceServed, Ports: []string{"http:80"}, Ready: 3, Streams: 2}, {Namespace: "a", Name: "z", State: inspect.ServiceServed, Federated: true}}
	two.Services = []inspect.Service{{Namespace: "shop", Name: "web", State: inspect.ServicePartly, Ports: []string{"http:80"}, Ready: 2, NotReady: 1, Streams: 5}}
	c, notes := newClient(t, one, two)
	a, err := c.Services(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "table", printed(t, "wide", a), "NAMESPACE  NAME  STATE          PORTS    READY  NOT READY  STREAMS  REMOTE  FEDERATED\n"+
		"shop       web   partly-served  http:80  2      0          7        -       -\na          z     served         -        0      0          0        -       yes\n")
	check(t, "notes", notes.String(), "signpost: note: shop/web: processes differ: one serves 3 endpoints, p1 serves 2\n")
}

// Only the records of the leader are listed. If no process leads, a note says so.
func TestRecords(t *testing.T) {
	next := time.Now().Add(time.Minute)
	web := inspect.ObjectRef{Kind: "Service", Namespace: "shop", Name: "web"}
	leader, standby := dnsProcess("leads"), dnsProcess("waits")
	leader.Records = []inspect.Record{
		{Name: "www.example.org", Zone: "example.org", Type: "A", State: inspect.RecordPublished, Targets: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}, TTL: 300, Owner: "default", Objects: []inspect.ObjectRef{web, web}},
		{Name: "old.example.org", Zone: "example.org", Type: "A", State: inspect.RecordHeld, Targets: []string{"192.0.2.9"}, Message: "its deletion waits for approval", Next: &next},
		{Name: "x.example.net", Type: "CNAME", State: inspect.RecordNoZone, Wanted: []string{"lb.test."}, Message: "no zone holds the name"},
	}
	standby.Records = []inspect.Record{{Name: "www.example.org", Zone: "example.org", Type: "A", State: inspect.RecordPending}}
	c, notes := newClient(t, standby, leader)
	a, _, err := c.Records(t.Context(), RecordFilter{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "table", printed(t, "table", a), `NAME             TYPE   STATE      TARGETS                                 OWNER    OBJECT                     MESSAGE
x.example.net    CNAME  no-zone    (wanted) lb.test.                       -        -                          no zone holds the name
old.example.org  A      held       192.0.2.9                               -        -                          its deletion waits for approval
www.example.org  A      published  192.0.2.1,192.0.2.2,192.0.2.3 + 1 more  default  Service shop/web + 1 more  -

3 records: published 1, held 1, no-zone 1.
`)
	if notes.Len() > 0 {
		t.Errorf("notes %s", notes)
	}
	a, _, err = c.Records(t.Context(), RecordFilter{States: []string{"held", "no-zone"}})
	check(t, fmt.Sprint("some states ", err), printed(t, "name", a), "record/-/x.example.net/CNAME\nrecord/example.org/old.example.org/A\n")

	c, notes = newClient(t, standby)
	a, _, err = c.Records(t.Context(), RecordFilter{})
	if err != nil || len(a.Table.Rows) != 1 || !strings.Contains(notes.String(), "no reachable process leads the role dns") {
		t.Errorf("%v, %v, notes %s", err, a.Table.Rows, notes)
	}
}

// A record lists the objects that ask for it and lose it, after its own problem (DNS findings, no.
// 9).
func TestLosersOfRecords(t *testing.T) {
	lost := func(namespace string) inspect.RecordLoser {
		return inspect.RecordLoser{
			Objects: []inspect.ObjectRef{{Kind: "Service", Namespace: namespace, Name: "web"}}, Wanted: []string{"192.0.2.66"},
			Message: "service/shop/web has the A record and keeps it",
		}
	}
	leader := dnsProcess("leads")
	leader.Records = []inspect.Record{
		{Name: "a.example.org", Zone: "example.org", Type: "A", State: inspect.RecordPublished, Targets: []string{"192.0.2.1"}, Losers: []inspect.RecordLoser{lost("team")}},
		{Name: "b.example.org", Zone: "example.org", Type: "A", State: inspect.RecordPublished, Targets: []string{"192.0.2.1"}, Losers: []inspect.RecordLoser{lost("team"), lost("zoo"), lost("zoo")}},
		{Name: "c.example.org", Zone: "example.org", Type: "A", State: inspect.RecordFailing, Targets: []string{"192.0.2.1"}, Message: "no such luck", Losers: []inspect.RecordLoser{lost("team")}},
	}
	c, _ := newClient(t, leader)
	a, _, err := c.Records(t.Context(), RecordFilter{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "table", printed(t, "table", a), `NAME           TYPE  STATE      TARGETS    OWNER  OBJECT  MESSAGE
a.example.org  A     published  192.0.2.1  -      -       Service team/web doesn't get it: service/shop/web has the A record and keeps it
b.example.org  A     published  192.0.2.1  -      -       Service team/web doesn't get it: service/shop/web has the A record and keeps it; and 2 more
c.example.org  A     failing    192.0.2.1  -      -       no such luck

3 records: published 2, failing 1.
`)
	if got := printed(t, "json", a); strings.Count(got, `"losers"`) != 3 || strings.Count(got, `"192.0.2.66"`) != 5 {
		t.Errorf("as JSON: %s", got)
	}
}

// Rows of two publishers, processes or zones with the same zone name are distinguishable and have
// unique names, and a master file has one zone (split-horizon V5).
func TestRecordsOfSeveralPublishers(t *testing.T) {
	web := inspect.Record{Name: "web.example.org", Zone: "example.org", Type: "A", State: inspect.RecordPublished, Targets: []string{"192.0.2.1"}}
	of := func(publisher, id, set string) inspect.Record {
		r := web
		r.Publisher, r.ZoneID, r.SetIdentifier = publisher, id, set
		return r
	}
	for name, test := range map[string]struct {
		records [][]inspect.Record
		column  string
		names   string
	}{
		"two publishers":         {[][]inspect.Record{{of("public", "example.org", ""), of("private", "example.org", "")}}, "PUBLISHER", "record/private/example.org/web.example.org/A record/public/example.org/web.example.org/A"},
		"two zones of one name":  {[][]inspect.Record{{of("aws", "Z1", ""), of("aws", "Z2", "")}}, "ZONE ID", "record/example.org/Z1/web.example.org/A record/example.org/Z2/web.example.org/A"},
		"two processes":          {[][]inspect.Record{{web}, {web}}, "PROCESS", "record/p0/example.org/web.example.org/A record/p1/example.org/web.example.org/A"},
		"two sets of one record": {[][]inspect.Record{{of("", "", "a"), of("", "", "b")}}, "", "record/example.org/web.example.org/A/a record/example.org/web.example.org/A/b"},
	} {
		t.Run(name, func(t *testing.T) {
			var processes []*inspecttest.Process
			for _, records := range test.records {
				p := dnsProcess("leads")
				p.Records = records
				processes = append(processes, p)
			}
			c, _ := newClient(t, processes...)
			a, records, err := c.Records(t.Context(), RecordFilter{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Fields(printed(t, "name", a)); strings.Join(got, " ") != test.names {
				t.Errorf("names %q, want %q", got, test.names)
			}
			head, _, _ := strings.Cut(printed(t, "table", a), "\n")
			for _, column := range []string{"PUBLISHER", "ZONE ID", "PROCESS"} {
				if strings.Contains(head, column) != (column == test.column) {
					t.Errorf("the columns are %s, want %s", head, test.column)
				}
			}
			if err := OneZone(records); (err != nil) != (test.column != "") {
				t.Errorf("a master file: %v", err)
			}
		})
	}
}

// A leader that lacks the publisher of the filter is no failure while another one has it.
func TestRecordsOfPublisherOfOneLeader(t *testing.T) {
	has, lacks := dnsProcess("leads"), dnsProcess("leads")
	has.Records = []inspect.Record{{Publisher: "public", Zone: "example.org", Name: "www.example.org", Type: "A", State: inspect.RecordPublished}}
	lacks.Paths = map[string]http.Handler{inspect.RecordsPath: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error": "there is no publisher \"public\": there is \"private\""}`)
	})}
	c, notes := newClient(t, has, lacks)
	if _, records, err := c.Records(t.Context(), RecordFilter{Publisher: "public"}); err != nil || len(records) != 1 || notes.Len() > 0 {
		t.Errorf("%v, %+v, notes %s", err, records, notes)
	}
	c, _ = newClient(t, lacks)
	if _, _, err := c.Records(t.Context(), RecordFilter{Publisher: "public"}); err == nil || !strings.Contains(err.Error(), `there is "private"`) {
		t.Errorf("%v, want the existing publishers", err)
	}
}

// A name that is no zone is used as the name of records; if there is none, the output lists the
// zones (split-horizon V8).
func TestRecordsByName(t *testing.T) {
	p := dnsProcess("leads")
	p.Records = []inspect.Record{
		{Name: "web.example.org", Zone: "example.org", Type: "A"}, {Name: "a.web.example.org", Zone: "example.org", Type: "A"}, {Name: "example.org", Zone: "example.org", Type: "MX"},
	}
	p.Zones = []inspect.Zone{{Name: ""}, {Name: "example.org"}, {Name: "empty.test"}} // the first one has the names without a zone
	for argument, want := range map[string]struct {
		rows int
		text string
	}{
		"web.example.org": {rows: 1},
		"example.org":     {rows: 3},
		"empty.test":      {text: "No record is wanted or published (filters: zone=empty.test).\n"},
		"x.example.org":   {text: "No zone and no record is named x.example.org. The zones are empty.test, example.org.\n"},
	} {
		c, _ := newClient(t, p)
		a, _, err := c.Records(t.Context(), RecordFilter{Zone: argument})
		if err != nil || len(a.Table.Rows) != want.rows || want.text != "" && a.Text != want.text {
			t.Errorf("%s: %v, %d rows, %s", argument, err, len(a.Table.Rows), a.Text)
		}
	}
}

// The master file can be read back, and a malformed target is a comment.
func TestZoneFile(t *testing.T) {
	got := ZoneFile([]inspect.Record{
		{Zone: "example.org", Name: "www.example.org", Type: "A", Targets: []string{"192.0.2.1", "192.0.2.2"}, TTL: 300},
		{Zone: "example.org", Name: "t.example.org", Type: "TXT", Targets: []string{`"a b" "c\"d"`, "\"a\"\nevil.example.org. 0 IN A 192.0.2.66", "a\" b"}, Truncated: true},
		{Zone: "example.org", Name: "$INCLUDE /etc/passwd", Type: "A", Targets: []string{"192.0.2.1"}},
		{Zone: "example.org", Name: "g.example.org", Type: "A", SetIdentifier: "eu", Targets: []string{"192.0.2.1"}, TTL: 60},
		{Zone: "example.org", Name: "alias.example.org", Type: "ALIAS", Targets: []string{"lb.test."}},
		{Zone: "", Name: "wanted.example.net", Type: "A", Wanted: []string{"192.0.2.1"}},
		{Zone: "example.com", Publisher: "inside\nx", Name: "example.com", Type: "MX", Targets: []string{"10 mail.example.com."}},
	}, RecordFilter{})
	check(t, "zone file", got, `; the zone example.com of the publisher inside x, without the records that signpost doesn't look at
example.com.	0	IN	MX	10 mail.example.com.
; the zone example.org, without the records that signpost doesn't look at
www.example.org.	300	IN	A	192.0.2.1
www.example.org.	300	IN	A	192.0.2.2
t.example.org.	0	IN	TXT	"a b" "c\"d"
; not in the form of master files: t.example.org. 0 IN TXT "a" evil.example.org. 0 IN A 192.0.2.66
; not in the form of master files: t.example.org. 0 IN TXT a" b
; t.example.org TXT has more targets, which are left out
; not in the form of master files: $INCLUDE /etc/passwd. 0 IN A 192.0.2.1
; g.example.org. 60 IN A 192.0.2.1 ; set eu
; not in the form of master files: alias.example.org. 0 IN ALIAS lb.test.
`)
	check(t, "nothing", ZoneFile(nil, RecordFilter{}), "; no record is published.\n")
	check(t, "nothing of a zone", ZoneFile(nil, RecordFilter{Zone: "a.test", States: []string{"held"}}), "; no record is published (filters: zone=a.test, state=held).\n")
}

// Equal problems of several processes are merged.
func TestProblems(t *testing.T) {
	one, two := destination(), dnsProcess("leads")
	web := inspect.ObjectRef{Kind: "Service", Namespace: "shop", Name: "web"}
	now := time.Now()
	one.Problems = []inspect.Problem{{Object: web, Field: "spec", Reason: "is wrong", Since: now.Add(-time.Hour), Last: &now}}
	two.Problems = []inspect.Problem{{Object: web, Field: "spec", Reason: "is wrong", Since: now.Add(-2 * time.Hour), Last: &now}, {Object: inspect.ObjectRef{Kind: "Node", Name: "n"}, Value: "x", Reason: "is\x1b odd", Since: now}}
	c, _ := newClient(t, one, two)
	a, err := c.Problems(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "table", printed(t, "table", a), "OBJECT            FIELD  AGE   REASON\nNode n            -      0s    is\\u001b odd\nService shop/web  spec   120m  is wrong\n")
	if a, err = c.Problems(t.Context(), "none", ""); err != nil || !strings.HasPrefix(a.Text, "No object has") {
		t.Errorf("%v, %s", err, a.Text)
	}
}

func TestStatus(t *testing.T) {
	n := 3
	p := &inspecttest.Process{Status: &inspect.Status{
		Version: "v1", Roles: []string{"destination", "dns"}, Started: time.Now().Add(-time.Hour), Details: []string{"pod: waiting: list pods is forbidden"},
		Leading: []inspect.Leading{{Role: "dns", Leads: true}}, Counts: inspect.Counts{Streams: &n, Records: map[inspect.RecordState]int{inspect.RecordPublished: 7, inspect.RecordForeign: 5, inspect.RecordHeld: 2}},
		Tables: []inspect.Table{{Kind: "pod", StaleSeconds: 12.34}, {Kind: "job"}, {Kind: "service", StaleSeconds: 12.34}}, Clusters: []inspect.Cluster{{Name: "east", State: "stale", Reason: "no route"}},
	}}
	c, _ := newClient(t, p)
	a, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "table", printed(t, "table", a), `PROCESS  ROLES            READY  LEADS  SERVICES  STREAMS  BEHIND  PUBLISHED  NOT PUBLISHED  HELD PLANS  PROBLEMS  AGE
p0       destination,dns  NO     dns    -         3        -       7          2              -           -         60m

p0: pod: waiting: list pods is forbidden
p0: changes of pod, service may have been missed for 12.3s
p0: cluster east: stale: no route
`)
}

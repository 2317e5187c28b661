package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/internal/golden"
	"github.com/signpostd/signpost/internal/history"
)

// pages is where the reference for users is, which is generated.
const pages = "../../docs/inspection/"

// A page has the paths about a topic, and the types of their answers.
type page struct {
	file, title string
	paths       []documented
	// sources are the files of this package that have the types.
	sources []string
}

var referencePages = []page{
	{file: "status.md", title: "status, problems and settings", sources: []string{"status.go", "now.go", "figures.go"}, paths: []documented{
		{StatusPath, "StatusPath", ""}, {NowPath, "NowPath", ""}, {FiguresPath, "FiguresPath", ""}, {ProblemsPath, "ProblemsPath", ""}, {ConfigPath, "ConfigPath", ""},
	}},
	{file: "streams.md", title: "streams and Services", sources: []string{"streams.go"}, paths: []documented{
		{StreamsPath, "StreamsPath", "?service=shop/web&limit=1"}, {ServicesPath, "ServicesPath", "?namespace=shop"},
	}},
	{file: "records.md", title: "DNS records, zones and plans", sources: []string{"records.go", "message.go"}, paths: []documented{
		{RecordsPath, "RecordsPath", "?state=held"}, {ZonesPath, "ZonesPath", ""},
	}},
	{file: "explain.md", title: "explanations and changes", sources: []string{"explanation.go"}, paths: []documented{
		{ExplainPath, "ExplainPath", "?q=svc/web%20-n%20shop"}, {ChangesPath, "ChangesPath", ""},
	}},
	{file: "history.md", title: "history", sources: []string{"historyanswer.go"}, paths: []documented{
		{HistoryPath, "HistoryPath", "?service=shop/web&since=10m"},
	}},
}

// TestReference compares the pages with the paths, the parameters, answers and the types.
func TestReference(t *testing.T) {
	all := parseSource(t)
	for _, p := range referencePages {
		t.Run(p.file, func(t *testing.T) { golden.File(t, pages+p.file, p.text(t, all)) })
	}
}

// documented is a path with a question to it.
type documented struct{ path, constant, query string }

func (p page) text(t *testing.T, all sources) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Inspection API: %s\n\n<!-- This file is generated: go test ./app/inspect -run TestReference -update -->\n\n", p.title)
	b.WriteString("[The inspection API](../inspection.md) has addresses, access, errors and limits.\n")
	for _, d := range p.paths {
		fmt.Fprintf(&b, "\n## `GET %s`\n\n%s\n", d.path, all.constants[d.constant])
		b.WriteString(d.example(t))
	}
	b.WriteString("\n## Types\n\nThese are the Go types of the responses. The tag of a field has its name in JSON; a field with `omitempty` may be missing.\n")
	for _, file := range p.sources {
		for _, name := range all.order[file] {
			fmt.Fprintf(&b, "\n```go\n%s\n```\n", all.types[name])
		}
	}
	return b.String()
}

// example asks a server and returns its answer. The stream of changes has no end, so its example is made
// here.
func (d documented) example(t *testing.T) string {
	if d.path == ChangesPath {
		return "\n```\n: what is read from now on is complete\n\n" + string(event(TopicStreams, Delta[Stream]{Gone: []string{"17"}})) + "```\n"
	}
	s := New(exampleConfig())
	// What is wrong was found at a fixed time.
	s.finder.last = &search{at: time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC), duration: 100_000 * time.Hour}
	s.finder.last.add(Finding{
		Area: AreaService, Severity: SeverityError, Subject: "Service shop/web", Explain: "Service/shop/web",
		Cause: "the selector app=wbe matches no pod; 3 pods of the namespace have app=web: did you mean that?",
	})
	// So were the figures.
	for i := range 3 {
		s.recorder.record(t.Context(), time.Date(2026, 11, 23, 9, 30, 5*i, 0, time.UTC))
	}
	var b strings.Builder
	i := slices.IndexFunc(s.endpoints, func(e endpoint) bool { return e.path == d.path })
	if names := s.endpoints[i].parameters; len(names) > 0 {
		fmt.Fprintf(&b, "\nParameters: `%s`.\n", strings.Join(names, "`, `"))
	}
	w := ask(s, d.path+d.query)
	if w.Code != 200 {
		t.Fatalf("%s%s: %d %s", d.path, d.query, w.Code, w.Body)
	}
	fmt.Fprintf(&b, "\n`GET %s%s` answers\n\n```json\n%s\n```\n", d.path, d.query, indented(t, w.Body.Bytes()))
	return b.String()
}

func indented(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(text), "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// exampleConfig has a little of everything, at a fixed time.
func exampleConfig() Config {
	at := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
	web := ObjectRef{Kind: "Service", Namespace: "shop", Name: "web"}
	w := &fixture{
		streams: []Stream{{
			ID: "17", Method: "Get", Target: "web.shop.svc.cluster.local:80", Service: "shop/web", Peer: "10.42.0.7:41812", Pod: "cart-5d9c-x2v7p", Namespace: "shop", Node: "n1",
			View: "zone a", State: StreamSynced, Endpoints: 3, Sent: 5, Current: 5, Opened: at,
		}},
		services: []Service{{Namespace: "shop", Name: "web", State: ServiceServed, Ports: []string{"http:80"}, Ready: 3, NotReady: 1, Streams: 1}},
		records: []Record{{
			ID: "a1", Zone: "example.org", Name: "old.example.org", Type: "A", State: RecordHeld, Targets: []string{"192.0.2.7"}, TTL: 300, Owner: "signpost",
			Message: "its deletion waits for approval of the plan 32a2e0379d4b0f11: signpost approve 32a2e0379d4b0f11",
		}},
		zones: []Zone{{Name: "example.org", Records: map[RecordState]int{RecordHeld: 1}, Read: &at, Held: "32a2e0379d4b0f11"}},
		steps: []Step{
			{What: "Service", State: StepOK, Text: "the Service shop/web exists, with 10.96.0.10, and has the ports [http:80]", Object: &web},
			{What: "Selector", State: StepWrong, Text: "the selector app=wbe matches no pod; 3 pods of the namespace have app=web: did you mean that?", Object: &web},
		},
	}
	return Config{
		Offers:  w.offers(),
		History: exampleHistory(at),
		Status: func() Status {
			return Status{
				Version: "v0.1.0", Process: "signpost-7c9d-abcde", Roles: []string{"destination", "dns"}, Started: at, Ready: true,
				Details: []string{"leader: this process, signpost-7c9d-abcde_1, by lease signpost/signpost-dns"},
				Leading: []Leading{{Role: "dns", Lease: "signpost/signpost-dns", Leads: true, Leader: "signpost-7c9d-abcde_1", Since: &at}},
				Tables:  []Table{{Kind: "service", State: "synced", Required: true, Objects: 12}},
			}
		},
		Problems: func() []Problem {
			return []Problem{{ID: "3", Object: web, Field: "metadata.annotations[config.linkerd.io/opaque-ports]", Reason: `"http" is neither a port nor a range`, Since: at}}
		},
		Replicas: func() []Replica {
			yes := true
			return []Replica{{Process: "signpost-7c9d-k4q2x", Ready: &yes, Revision: "7c9d", Node: "n2", Started: &at}, {Process: "signpost-7c9d-abcde", Ready: &yes, Revision: "7c9d", Node: "n1"}}
		},
		Settings: json.RawMessage(`{"apiVersion":"signpost.dev/v1alpha1","kind":"Config","log":{"level":"info"}}`),
	}
}

// exampleHistory has a change of each kind, a few minutes before a time.
func exampleHistory(at time.Time) *history.Log {
	log := history.New(history.DefaultBytes, func() time.Time { return at })
	web := history.Key{Namespace: "shop", Name: "web"}
	add := func(key history.Key, before time.Duration, e history.Entry) {
		e.At = at.Add(-before)
		log.Add(key, "shop", &e)
	}
	add(web, 3*time.Minute, history.Entry{
		Kind: history.Written, Action: history.Updated, Source: "endpoint_slice", Object: "EndpointSlice/web-7c2xk", Endpoints: 2, NotReady: 1,
		Removed: []netip.AddrPort{netip.MustParseAddrPort("10.42.0.17:0")},
	})
	add(web, 3*time.Minute-40*time.Millisecond, history.Entry{
		Kind: history.Sent, Action: history.Updated, Source: "destination", Port: 80, Streams: 12, Places: 1, Endpoints: 2,
		Removed: []netip.AddrPort{netip.MustParseAddrPort("10.42.0.17:8080")},
	})
	add(history.Key{Name: "www.example.org"}, time.Minute, history.Entry{
		Kind: history.Record, Action: history.Updated, Source: "public", Zone: "example.org", Type: "A", TTL: 300,
		Old: []string{"192.0.2.7"}, New: []string{"192.0.2.8"}, Objects: []string{"Service/shop/web"},
	})
	return log
}

// sources are the declarations of the package that the page shows.
type sources struct {
	// constants has the comments of constants, as Markdown.
	constants map[string]string
	// types has the source text of types, and order their names, by file.
	types map[string]string
	order map[string][]string
}

func parseSource(t *testing.T) sources {
	t.Helper()
	all := sources{constants: map[string]string{}, types: map[string]string{}, order: map[string][]string{}}
	set := token.NewFileSet()
	for _, name := range sourceFiles() {
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declaration, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range declaration.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					all.constants[s.Names[0].Name] = markdown(s.Doc.Text())
				case *ast.TypeSpec:
					var b bytes.Buffer
					if err := format.Node(&b, set, declaration); err != nil {
						t.Fatal(err)
					}
					all.types[s.Name.Name] = b.String()
					all.order[name] = append(all.order[name], s.Name.Name)
				}
			}
		}
	}
	return all
}

// sourceFiles returns the files that the pages are made of.
func sourceFiles() (names []string) {
	for _, p := range referencePages {
		names = append(names, p.sources...)
	}
	return names
}

// markdown turns a comment into a paragraph: links to declarations become code.
func markdown(comment string) string {
	text := strings.TrimSpace(strings.ReplaceAll(comment, "\n", " "))
	// "StatusPath has a Status" is about the constant.
	if words := strings.SplitN(text, " ", 4); len(words) == 4 && strings.HasSuffix(words[0], "Path") {
		text = strings.ToUpper(words[2][:1]) + words[2][1:] + " " + words[3]
	}
	for _, word := range []string{"Status", "StreamList", "StreamState", "ServiceState", "ServiceList", "RecordList", "RecordState", "ZoneList", "ProblemList", "Explanation", "Delta", "Failure"} {
		text = strings.ReplaceAll(text, "["+word+"]", "`"+word+"`")
	}
	return text
}

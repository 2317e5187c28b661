package inspectclient

import (
	"errors"
	"strings"
	"testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
)

func TestSubject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"svc/web": "service=shop%2Fweb", "service/web:80": "service=shop%2Fweb%3A80", "services/web": "service=shop%2Fweb", "Service/web": "service=shop%2Fweb",
		"svc/other/web": "service=other%2Fweb", "other/web": "service=other%2Fweb", "other/web:8080": "service=other%2Fweb%3A8080", "web": "service=shop%2Fweb", "web:80": "service=shop%2Fweb%3A80",
		// mesh, finding 9: names of pods. first-hour M5: the kind of an object isn't a namespace.
		"web-0.web.other.svc.cluster.local:80": "namespace=shop&q=web-0.web.other.svc.cluster.local%3A80", "web-0.web.other.svc": "namespace=shop&q=web-0.web.other.svc",
		"deployment/web": "object=Deployment%2Fshop%2Fweb", "sts/web": "object=StatefulSet%2Fshop%2Fweb", "sp/web.shop.svc.cluster.local": "object=ServiceProfile%2Fshop%2Fweb.shop.svc.cluster.local",
		"web.other:80": "namespace=shop&q=web.other%3A80", "web.other:443": "namespace=shop&q=web.other%3A443", "https://example.org/a": "namespace=shop&q=example.org%3A443", "web.other.svc": "service=other%2Fweb", "web.other.svc.cluster.local:80": "service=other%2Fweb%3A80",
		"http://web.other:80/path?x=1": "namespace=shop&q=web.other%3A80", "https://www.example.org/a": "name=www.example.org", "https://10.0.0.7:8443": "address=10.0.0.7%3A8443",
		"10.0.0.7": "address=10.0.0.7", "10.0.0.7:8080": "address=10.0.0.7%3A8080", "[fd00::1]:80": "address=%5Bfd00%3A%3A1%5D%3A80", "fd00::1": "address=fd00%3A%3A1", "[fd00::1]": "address=fd00%3A%3A1", "::ffff:10.0.0.7": "address=10.0.0.7",
		"www.example.org": "name=www.example.org", "www.example.org.": "name=www.example.org", "example.org.": "name=example.org", "*.example.org": "name=%2A.example.org", "www.example.org:443": "name=www.example.org",
		"example.org": "namespace=shop&q=example.org", "web:http": "namespace=shop&q=web%3Ahttp", "Ingress/web": "object=Ingress%2Fshop%2Fweb", "ing/web": "object=Ingress%2Fshop%2Fweb", "ingresses.networking.k8s.io/web": "object=Ingress%2Fshop%2Fweb",
		"ingress/other/web": "object=Ingress%2Fother%2Fweb", "node/n1": "object=Node%2Fn1", "no/n1": "object=Node%2Fn1", "Frobnicator/x": "object=Frobnicator%2Fshop%2Fx", " web ": "service=shop%2Fweb",
		"": "!", "a b": "!", "a/b/c/d": "!", "a//b": "!", "web:0": "!", "web:65536": "!", "a..b": "!", "http://": "!", "http://%zz": "!", "a\x1bb": "!", strings.Repeat("a", 3000): "!",
	} {
		query, err := Subject(text, "shop")
		if usage := new(settings.UsageError); want == "!" {
			if err == nil || !errors.As(err, &usage) || len(err.Error()) > 400 {
				t.Errorf("%.40q: %v, %s; want a short error about the argument", text, err, query.Encode())
			}
		} else if err != nil || query.Encode() != want {
			t.Errorf("%q: %v, got %s; want %s", text, err, query.Encode(), want)
		}
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"svc/web": "shop/web", "web.other:80": "other/web", "web.other": "other/web", "web-0.web.other.svc.cluster.local:80": "other/web", "pod/web": "", "www.example.org": "", "a b": "",
	} {
		if got, err := Service(text, "shop"); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %v, %q; want %q", text, err, got, want)
		}
	}
}

// Any text is exactly one query or an error.
func FuzzSubject(f *testing.F) {
	for _, seed := range []string{"svc/web", "10.0.0.1:80", "[::1]:80", "https://a.b/c", "a.b:c", "x/y/z", "%", "::%eth0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := Subject(text, "shop")
		if err != nil {
			return
		}
		parameters := 0
		for _, name := range []string{"service", "address", "name", "object", "q"} {
			parameters += len(query[name])
		}
		if parameters != 1 {
			t.Errorf("%q: %d parameters: %s", text, parameters, query.Encode())
		}
	})
}

func TestAuthority(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"web.other:80": "web.other.svc.cluster.test:80", "web.other": "web.other.svc.cluster.test", "web:80": "web.shop.svc.cluster.test:80", "svc/web:80": "web.shop.svc.cluster.test:80", "svc/web": "web.shop.svc.cluster.test",
		"other/web:80": "web.other.svc.cluster.test:80", "web.other.svc:80": "web.other.svc.cluster.test:80", "web.other.svc.cluster.local:80": "web.other.svc.cluster.local:80", "10.0.0.1:80": "10.0.0.1:80", "[fd00::1]:80": "[fd00::1]:80",
		"web-0.web.other.svc.cluster.local:80": "web-0.web.other.svc.cluster.local:80", "ingress/web": "!",
	} {
		got, err := Authority(text, "cluster.test", "shop")
		if (err != nil) != (want == "!") || (err == nil && got != want) {
			t.Errorf("%q: %v, got %s; want %s", text, err, got, want)
		}
	}
}

func explains(e inspect.Explanation) func(map[string][]string) *inspect.Explanation {
	return func(query map[string][]string) *inspect.Explanation {
		if query["service"] == nil {
			return nil
		}
		return &e
	}
}

// Explanations of several processes are joined: roles in a fixed order, equal steps once, the steps
// of the dns role from the leader, and the worst verdict.
func TestExplain(t *testing.T) {
	selector := inspect.Step{Role: "destination", What: "Selector", State: inspect.StepOK, Text: "It selects 3 pods."}
	stream := func(pod string) inspect.Step {
		return inspect.Step{Role: "destination", What: "Streams", State: inspect.StepNote, Text: "Clients ask for it.", More: []string{pod}}
	}
	one, two, leader, standby := destination(), destination(), dnsProcess("leads"), dnsProcess("waits")
	one.Explain = explains(inspect.Explanation{Subject: "Service shop/web", Verdict: inspect.VerdictOK, Summary: "It is served.", Steps: []inspect.Step{selector, stream("a")}})
	two.Explain = explains(inspect.Explanation{Subject: "Service shop/web", Verdict: inspect.VerdictOK, Summary: "It is served.", Steps: []inspect.Step{selector, stream("b\x1b")}})
	leader.Explain = explains(inspect.Explanation{Subject: "Service shop/web", Verdict: inspect.VerdictWrong, Summary: "No zone holds www.example.net: add a zone.", Steps: []inspect.Step{
		{Role: "dns", What: "Zone", State: inspect.StepWrong, Text: "No zone holds www.example.net."},
	}})
	standby.Explain = explains(inspect.Explanation{Verdict: inspect.VerdictUnknown, Summary: "This process doesn't lead."})
	query, err := Subject("svc/web", "shop")
	if err != nil {
		t.Fatal(err)
	}
	c, notes := newClient(t, leader, standby, one, two)
	a, verdict, err := c.Explain(t.Context(), query)
	if err != nil || verdict != inspect.VerdictWrong || notes.Len() > 0 {
		t.Errorf("%v, %s, notes %s", err, verdict, notes)
	}
	check(t, "text", printed(t, "table", a), `Service shop/web

destination
  ok      Selector: It selects 3 pods. (p2, p3)
  note    Streams: Clients ask for it. (p2, p3)
          a
          b\u001b

dns
  WRONG   Zone: No zone holds www.example.net. (p0)

No zone holds www.example.net: add a zone.
`)
	c, _ = newClient(t, one, two)
	if a, verdict, err = c.Explain(t.Context(), query); err != nil || verdict != inspect.VerdictOK || !strings.HasSuffix(a.Text, "\n\nIt is served.\n") {
		t.Errorf("%v, %s, %s", err, verdict, a.Text)
	}
	// A process with both roles that doesn't lead says what it serves, and leaves DNS to the leader.
	both := destination()
	both.Status.Roles, both.Status.Leading = []string{"destination", "dns"}, []inspect.Leading{{Role: "dns"}}
	both.Explain = explains(inspect.Explanation{Subject: "Service shop/web", Verdict: inspect.VerdictUnknown, Summary: "I don't lead.", Steps: []inspect.Step{selector, {Role: "dns", What: "Leader", State: inspect.StepUnknown, Text: "Another one leads."}}})
	leader.Explain = explains(inspect.Explanation{Subject: "Service shop/web", Verdict: inspect.VerdictOK, Summary: "It is published.", Steps: []inspect.Step{{Role: "dns", What: "Zone", State: inspect.StepOK, Text: "It is there."}}})
	c, _ = newClient(t, both, leader)
	if a, verdict, err = c.Explain(t.Context(), query); err != nil || verdict != inspect.VerdictOK || strings.Contains(a.Text, "Another one leads") || !strings.HasSuffix(a.Text, "\n\nIt is published.\n") {
		t.Errorf("%v, %s, %s", err, verdict, a.Text)
	}
	c, _ = newClient(t, both)
	if _, verdict, err = c.Explain(t.Context(), query); err != nil || verdict != inspect.VerdictUnknown {
		t.Errorf("%v, %s", err, verdict)
	}
	// A process that knows nothing of it doesn't make unknown what another one knows.
	none := destination()
	none.Explain = explains(inspect.Explanation{Subject: "Service shop/web", Verdict: inspect.VerdictUnknown, Summary: "Nothing is known here.", Steps: []inspect.Step{}})
	c, _ = newClient(t, none, one)
	if a, verdict, err = c.Explain(t.Context(), query); err != nil || verdict != inspect.VerdictOK || strings.Contains(a.Text, "Nothing is known") {
		t.Errorf("%v, %s, %s", err, verdict, a.Text)
	}
	query, _ = Subject("10.0.0.1", "shop")
	if _, _, err = c.Explain(t.Context(), query); err == nil || !strings.Contains(err.Error(), "nothing is known of that") {
		t.Errorf("got %v", err)
	}
}

// A pod of several Services: equal steps about different Services are different steps, and those of two processes
// about one Service stand together.
func TestExplainSeveralServices(t *testing.T) {
	step := func(what, text, service string, more ...string) inspect.Step {
		s := inspect.Step{Role: "destination", What: what, State: inspect.StepOK, Text: text, More: more}
		if service != "" {
			s.Object = &inspect.ObjectRef{Kind: "Service", Namespace: "shop", Name: service}
		}
		return s
	}
	one, two := destination(), destination()
	one.Explain = explains(inspect.Explanation{Subject: "Pod shop/web-0", Verdict: inspect.VerdictOK, Steps: []inspect.Step{
		step("Pod", "is ready", ""),
		step("Service", "a exists", "a"), step("Slices", "one slice", "a", "slice of a"), step("Streams", "one stream", "a", "stream 1"),
		step("Service", "b exists", "b"), step("Slices", "one slice", "b", "slice of b"),
	}})
	two.Explain = explains(inspect.Explanation{Subject: "Pod shop/web-0", Verdict: inspect.VerdictOK, Steps: []inspect.Step{
		step("Pod", "is ready", ""),
		step("Service", "b exists", "b"), step("Slices", "one slice", "b", "slice of b"),
		step("Service", "a exists", "a"), step("Slices", "one slice", "a", "slice of a"), step("Streams", "two streams", "a", "stream 2"),
	}})
	query, err := Subject("svc/web", "shop")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := newClient(t, one, two)
	a, _, err := c.Explain(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", printed(t, "table", a), `Pod shop/web-0

destination
  ok      Pod: is ready (p0, p1)
  ok      Service: a exists (p0, p1)
  ok      Slices: one slice (p0, p1)
          slice of a
  ok      Streams: one stream (p0)
          stream 1
  ok      Streams: two streams (p1)
          stream 2
  ok      Service: b exists (p0, p1)
  ok      Slices: one slice (p0, p1)
          slice of b


`)
}

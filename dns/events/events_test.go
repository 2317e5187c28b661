package events

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

// api is a fake API server, which responds with response.
type api struct {
	eventsclient.EventsV1Interface
	response func(namespace string) error

	mu      sync.Mutex
	events  []*eventsv1.Event
	tried   int
	dryRuns int
}

func (a *api) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.events)
}

type namespaced struct {
	eventsclient.EventInterface
	*api
	namespace string
}

func (a *api) Events(namespace string) eventsclient.EventInterface {
	return namespaced{api: a, namespace: namespace}
}

func (n namespaced) Create(_ context.Context, e *eventsv1.Event, o metav1.CreateOptions) (*eventsv1.Event, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tried++
	if len(o.DryRun) > 0 {
		n.dryRuns++
	}
	if n.response != nil {
		if err := n.response(n.namespace); err != nil {
			return nil, err
		}
	}
	if e.Namespace != n.namespace {
		return nil, errors.New("the Event is in another namespace")
	}
	n.events = append(n.events, e)
	return e, nil
}

var all = []string{publisher.ReasonReady, publisher.ReasonDeleted, publisher.ReasonError}

func newSender(t *testing.T, a *api, change func(*Config)) *Sender {
	t.Helper()
	c := Config{Client: a}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// send sends a notice with all reasons.
func send(s *Sender, n publisher.Notice) { s.For(Options{Reasons: all})(n) }

var shop = dns.Object{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: "shop", UID: "uid-1", Source: "service"}

func ready(objects ...dns.Object) publisher.Notice {
	return publisher.Notice{
		Objects: objects, Action: publisher.ActionCreated, Reason: publisher.ReasonReady,
		Record: &dns.RecordSet{Name: "shop.example.org", Type: "A", TTL: 300, Targets: []string{"192.0.2.1", "192.0.2.2"}, Labels: map[string]string{dns.LabelOwner: "me"}},
	}
}

// TestEvent checks the fields of spec/dns.md §11.
func TestEvent(t *testing.T) {
	a := &api{}
	s := newSender(t, a, nil)
	send(s, ready(shop, dns.Object{APIVersion: "v1", Kind: "Node", Name: "Node_1", Source: "node"}))
	s.Flush(t.Context())
	if len(a.events) != 2 {
		t.Fatalf("%d events", len(a.events))
	}
	e, node := a.events[0], a.events[1]
	const note = "(external-dns) record:shop.example.org,owner:me,type:A,ttl:300,targets:192.0.2.1,192.0.2.2"
	for what, pair := range map[string][2]string{
		"action": {e.Action, "Created"}, "reason": {e.Reason, "RecordReady"}, "type": {e.Type, "Normal"}, "note": {e.Note, note},
		"controller": {e.ReportingController, "external-dns"}, "instance": {e.ReportingInstance, "external-dns/source/service"},
		"namespace": {e.Namespace, "web"}, "regarding": {e.Regarding.String(), e.Related.String()}, "uid": {string(e.Regarding.UID), "uid-1"},
		"object":              {e.Regarding.APIVersion + " " + e.Regarding.Kind + " " + e.Regarding.Namespace + "/" + e.Regarding.Name, "v1 Service web/shop"},
		"namespace of a node": {node.Namespace, "default"}, "node": {node.Regarding.Kind + " " + node.Regarding.Name, "Node Node_1"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	if node.Related != nil {
		t.Errorf("without a UID something is related: %v", node.Related)
	}
	if e.EventTime.IsZero() || !regexp.MustCompile(`^shop\.[0-9a-f]+$`).MatchString(e.Name) || !strings.HasPrefix(node.Name, "node-1.") {
		t.Errorf("names %q and %q at %v", e.Name, node.Name, e.EventTime)
	}
}

func TestNote(t *testing.T) {
	n := ready(shop)
	n.Message = "it is in the way"
	if got := note(n); !strings.HasSuffix(got, "192.0.2.2: it is in the way") {
		t.Error(got)
	}
	n.Record.Labels, n.Record.SetIdentifier = nil, "blue"
	if got := note(n); !strings.Contains(got, ",owner:blue,") {
		t.Error(got)
	}
	n.Record.Targets = []string{strings.Repeat("ä", 600)}
	got := note(n)
	if len(got) > 1024 || len(got) < 1020 || !strings.HasSuffix(got, "...") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := note(publisher.Notice{Message: "nothing else"}); got != "nothing else" {
		t.Error(got)
	}
}

// An Event about a problem is a warning, and is sent whatever Reasons are selected.
func TestReasons(t *testing.T) {
	tests := map[string]struct {
		reasons []string
		notice  publisher.Notice
		want    string // the type of the Event, empty for none
	}{
		"ready":           {reasons: all, notice: ready(shop), want: "Normal"},
		"deleted":         {reasons: all, notice: publisher.Notice{Objects: []dns.Object{shop}, Reason: publisher.ReasonDeleted}, want: "Normal"},
		"error":           {reasons: all, notice: publisher.Notice{Objects: []dns.Object{shop}, Reason: publisher.ReasonError, Message: "x"}, want: "Warning"},
		"not asked for":   {reasons: []string{publisher.ReasonError}, notice: ready(shop)},
		"none":            {reasons: []string{"none"}, notice: publisher.Notice{Objects: []dns.Object{shop}, Reason: publisher.ReasonError, Message: "x"}},
		"invalid":         {notice: publisher.Notice{Objects: []dns.Object{shop}, Reason: publisher.ReasonInvalid, Message: "x"}, want: "Warning"},
		"conflict":        {notice: publisher.Notice{Objects: []dns.Object{shop}, Reason: publisher.ReasonConflict, Message: "x"}, want: "Warning"},
		"about nobody":    {notice: publisher.Notice{Reason: publisher.ReasonHeld, Message: "x"}, want: "Warning"},
		"approved":        {notice: publisher.Notice{Reason: publisher.ReasonApproved, Message: "x"}, want: "Normal"},
		"without a name":  {notice: publisher.Notice{Objects: []dns.Object{{Kind: "Service"}}, Reason: publisher.ReasonInvalid, Message: "x"}},
		"without objects": {reasons: all, notice: publisher.Notice{Reason: publisher.ReasonReady}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			s := newSender(t, a, func(c *Config) {
				c.Process = dns.Object{APIVersion: "v1", Kind: "Pod", Namespace: "dns", Name: "pod-1"}
			})
			s.For(Options{Reasons: tt.reasons})(tt.notice)
			s.Flush(t.Context())
			got := ""
			for _, e := range a.events {
				got += e.Type
			}
			if got != tt.want {
				t.Errorf("types %q, want %q", got, tt.want)
			}
		})
	}
}

// A dry run of one publisher doesn't affect the Events of others.
func TestDryRun(t *testing.T) {
	a := &api{}
	s := newSender(t, a, nil)
	s.For(Options{Reasons: all, DryRun: true})(ready(shop))
	s.For(Options{Reasons: all})(ready(shop))
	s.Flush(t.Context())
	if a.dryRuns != 1 || a.tried != 2 {
		t.Errorf("%d dry runs of %d", a.dryRuns, a.tried)
	}
}

var resource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// A process without permission to create Events reports that once, and doesn't try again in
// that namespace.
func TestForbidden(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	a := &api{response: func(namespace string) error {
		if namespace == "open" {
			return nil
		}
		return apierrors.NewForbidden(resource, "", errors.New("no role"))
	}}
	s := newSender(t, a, func(c *Config) {
		c.Log, c.Registerer = slog.New(slog.NewTextHandler(&log, nil)), registry
	})
	other, open := shop, shop
	other.Namespace, open.Namespace = "other", "open"
	for range 5 {
		send(s, ready(shop, other, open))
	}
	s.Flush(t.Context())
	if a.tried != 2+5 || len(a.events) != 5 {
		t.Errorf("%d tries, %d events; want one try in each of two namespaces, and 5 events in the third", a.tried, len(a.events))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no role") {
		t.Errorf("%d lines, want one:\n%s", n, &log)
	}
	want := "# HELP signpost_dns_events_dropped_total Events that were not sent, because too many were waiting or the API server refused them.\n" +
		"# TYPE signpost_dns_events_dropped_total counter\nsignpost_dns_events_dropped_total 10\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "signpost_dns_events_dropped_total"); err != nil {
		t.Error(err)
	}
}

// Forbidden Events in a terminating namespace aren't reported.
func TestTerminatingNamespace(t *testing.T) {
	var log bytes.Buffer
	a := &api{response: func(string) error {
		err := apierrors.NewForbidden(resource, "", errors.New("being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
		return err
	}}
	s := newSender(t, a, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	send(s, ready(shop))
	send(s, ready(shop))
	s.Flush(t.Context())
	if a.tried != 2 || log.Len() > 0 {
		t.Errorf("%d tries, log:\n%s", a.tried, &log)
	}
}

// Temporary errors are tried again, others aren't.
func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{errors.New("connection refused"), 3},
		{apierrors.NewNotFound(resource, ""), 1},
		{apierrors.NewInvalid(schema.GroupKind{}, "", nil), 1},
	} {
		var log bytes.Buffer
		a := &api{response: func(string) error { return tt.err }}
		s := newSender(t, a, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		send(s, ready(shop))
		s.Flush(t.Context())
		if a.tried != tt.want || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%v: %d tries, want %d; log:\n%s", tt.err, a.tried, tt.want, &log)
		}
	}
}

// Notices never block: if too many Events wait, further ones are dropped, and the rest is sent at a
// limited rate.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		registry := prometheus.NewRegistry()
		s := newSender(t, a, func(c *Config) { c.Registerer = registry })
		for range capacity + 50 {
			send(s, ready(shop))
		}
		if got := testutil.ToFloat64(s.dropped); got != 50 {
			t.Errorf("%v dropped, want 50", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		if a.count() != burst {
			t.Errorf("%d sent at once, want %d", a.count(), burst)
		}
		begun := time.Now()
		s.Flush(ctx)
		if took := time.Since(begun).Round(time.Second); a.count() != capacity || took != (capacity-burst)/perSecond*time.Second {
			t.Errorf("%d sent in %v", a.count(), took)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Events about problems are sent before those about many published names, and aren't displaced by
// them (tenants S3).
func TestProblemsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		s := newSender(t, a, nil)
		for range capacity + 50 {
			send(s, ready(shop))
		}
		send(s, publisher.Notice{Objects: []dns.Object{shop}, Action: publisher.ActionFailed, Reason: publisher.ReasonTooMany, Message: "too many"})
		s.Flush(t.Context())
		if len(a.events) != capacity+1 || a.events[0].Reason != publisher.ReasonTooMany {
			t.Errorf("%d Events, of which the first says %s", len(a.events), a.events[0].Reason)
		}
	})
}

// Run ends with its context, whatever it is waiting for.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		s := newSender(t, a, nil)
		for range burst + 10 {
			send(s, ready(shop))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(burst, a.count()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOneSenderPerRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	newSender(t, &api{}, func(c *Config) { c.Registerer = registry })
	if _, err := New(Config{Registerer: registry}); err == nil || !strings.Contains(err.Error(), "one sender for each registry") {
		t.Errorf("%v", err)
	}
}

// The log has a line at level debug for each Event that was sent, and none for one that the API
// server refused.
func TestEventsAreLogged(t *testing.T) {
	var log bytes.Buffer
	a := &api{response: func(namespace string) error {
		if namespace == "web" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
	}}
	s := newSender(t, a, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	elsewhere := shop
	elsewhere.Namespace = "other"
	send(s, ready(shop, elsewhere))
	s.For(Options{Reasons: all, DryRun: true})(ready(shop))
	s.Flush(t.Context())
	const want = `level=DEBUG msg="Event is sent" kind=Service namespace=web name=shop type=Normal reason=RecordReady message="(external-dns) record:shop.example.org,`
	if text := log.String(); strings.Count(text, "Event is sent") != 2 || strings.Count(text, want) != 2 || strings.Count(text, " dryRun=true") != 1 {
		t.Errorf("log:\n%s", text)
	}
}

func invalid(message string) publisher.Notice {
	return publisher.Notice{Objects: []dns.Object{shop}, Action: publisher.ActionFailed, Reason: publisher.ReasonInvalid, Message: message}
}

// An equal Event about a problem isn't sent again for a while. Other Events are, also those about
// successes.
func TestProblemsAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		s := newSender(t, a, nil)
		for range 100 {
			send(s, invalid("bad TTL"))
			send(s, ready(shop))
		}
		send(s, invalid("bad name"))
		s.Flush(t.Context())
		if n := a.count(); n != 102 {
			t.Errorf("%d Events, want one for each problem, and 100", n)
		}
		time.Sleep(repeatAfter)
		send(s, invalid("bad TTL"))
		s.Flush(t.Context())
		if n := a.count(); n != 103 {
			t.Errorf("%d Events: the problem isn't said again after %v", n, repeatAfter)
		}
	})
}

// A dropped Event is sent the next time, and the number of remembered Events is limited.
func TestDroppedEventsAreSentAgain(t *testing.T) {
	fails := true
	a := &api{response: func(string) error {
		if fails {
			return apierrors.NewNotFound(resource, "")
		}
		return nil
	}}
	s := newSender(t, a, nil)
	send(s, invalid("bad TTL"))
	s.Flush(t.Context())
	fails = false
	send(s, invalid("bad TTL"))
	s.Flush(t.Context())
	if a.count() != 1 {
		t.Errorf("%d Events", a.count())
	}
	for i := range 2 * remembered {
		s.isNew(event{Event: newEvent(shop, invalid(strconv.Itoa(i)), time.Now())})
	}
	if n := s.lastSent.Len(); n != remembered {
		t.Errorf("%d Events are remembered", n)
	}
}

// Equal Events of seven processes are one Event with a count, on a real API server. Without the
// right to patch, the Event has no count (B1).
func TestRealAPIServerCountsEvents(t *testing.T) {
	c := kubetest.Start(t)
	of := shop
	of.Namespace = c.Namespace(t)
	client := c.Client.EventsV1()
	notice := invalid("bad TTL")
	notice.Objects = []dns.Object{of}
	for range 7 {
		s, err := New(Config{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		send(s, notice)
		s.Flush(t.Context())
		if n := testutil.ToFloat64(s.dropped); n > 0 {
			t.Errorf("%v Events dropped", n)
		}
	}
	list, err := client.Events(of.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Series == nil || list.Items[0].Series.Count != 7 {
		t.Fatalf("%d Events: %+v", len(list.Items), list.Items)
	}
	if last := list.Items[0].Series.LastObservedTime; !last.After(list.Items[0].EventTime.Time) {
		t.Errorf("first at %v, last at %v", list.Items[0].EventTime, last)
	}
	of.UID = "uid-2"
	notice.Objects = []dns.Object{of}
	s := newSender(t, &api{}, func(config *Config) { config.Client = client })
	send(s, notice)
	s.Flush(t.Context())
	if list, err = client.Events(of.Namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
		t.Errorf("%d Events about two objects of one name: %v", len(list.Items), err)
	}
}

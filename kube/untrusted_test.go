package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/logtest"
)

// untrustedServer lists n Servers, and then adds as many as one wants, if it is to stream.
func untrustedServer(t *testing.T, n int, streams bool, size int) *rest.Config {
	object := func(i int) string {
		return fmt.Sprintf(`{"kind":"Server","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"namespace":"ns","name":"s%d","resourceVersion":"%d","annotations":{"a":%q}}}`, i, i+1, strings.Repeat("a", size))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case q.Get("watch") == "":
			var items []string
			for i := range n {
				items = append(items, object(i))
			}
			fmt.Fprintf(w, `{"kind":"ServerList","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"resourceVersion":"9"},"items":[%s]}`, strings.Join(items, ","))
		case q.Get("sendInitialEvents") == "true" && !streams:
			http.Error(w, "no", http.StatusUnprocessableEntity)
		case streams:
			for i := 0; r.Context().Err() == nil && i < 1000; i++ {
				fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, object(i))
			}
		default:
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// M10: what an untrusted server could make us keep had no limit: the size of a listing, that of an
// event in JSON, and the number of objects.
func TestForeignLimits(t *testing.T) {
	for name, test := range map[string]struct {
		config *rest.Config
		limits UntrustedLimits
		want   string
	}{
		"within all":        {untrustedServer(t, 3, false, 10), UntrustedLimits{ListBytes: 10_000, EventBytes: 10_000, Objects: 3}, ""},
		"large listing":     {untrustedServer(t, 3, false, 10_000), UntrustedLimits{ListBytes: 10_000}, "its listing is larger than 10000 bytes"},
		"many in a listing": {untrustedServer(t, 4, false, 10), UntrustedLimits{Objects: 3}, "it has more than 3 objects of the kind"},
		"many in a watch":   {untrustedServer(t, 4, true, 10), UntrustedLimits{Objects: 3}, "it has more than 3 objects of the kind"},
		"large event":       {untrustedServer(t, 0, true, 200_000), UntrustedLimits{EventBytes: 10_000, ListBytes: 1}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			c := runWith(t, Options{Config: test.config, Untrusted: &test.limits}, Servers().Table())
			kubetest.Eventually(t, 20*time.Second, func() error {
				s := c.Status()[0]
				switch {
				case test.want == "" && s.State != Synced, test.want != "" && !strings.Contains(s.Detail, test.want):
					return fmt.Errorf("%+v, want %q", s, test.want)
				case test.want == "" && s.Objects != 3, test.want != "" && s.Objects != 0:
					return fmt.Errorf("%d objects", s.Objects)
				}
				return nil
			})
		})
	}
}

// Whatever an untrusted server says of objects, it can't make the process keep more of them.
func TestForeignObjectsAreLimited(t *testing.T) {
	server := func(i int) string {
		return fmt.Sprintf(`{"kind":"Server","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"namespace":"ns","name":"s%d","resourceVersion":"9"}}`, i)
	}
	event := func(kind string, i int) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, server(i)) }
	for name, test := range map[string]struct {
		// fills is true if the events come before the existing objects have arrived.
		fills bool
		// events are those of a watch, without end.
		events func(i int) string
		// page is what each page of a listing has, of which there is always one more.
		page string
	}{
		"unknown objects are modified": {events: func(i int) string { return event("MODIFIED", i) }},
		"others are deleted":           {events: func(i int) string { return event("ADDED", i) + event("DELETED", 1_000_000+i) }},
		"modified while filling":       {fills: true, events: func(i int) string { return event("MODIFIED", i) }},
		"deleted while filling":        {fills: true, events: func(i int) string { return event("ADDED", i) + event("DELETED", 1_000_000+i) }},
		"pages without end":            {page: server(1) + "," + server(2)},
		"empty pages without end":      {page: " "},
	} {
		t.Run(name, func(t *testing.T) {
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				q := r.URL.Query()
				switch fills := q.Get("sendInitialEvents") == "true"; {
				case q.Get("watch") == "":
					more := ""
					if test.page != "" {
						more = "more"
					}
					fmt.Fprintf(w, `{"kind":"ServerList","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"resourceVersion":"9","continue":%q},"items":[%s]}`, more, test.page)
				case fills && !test.fills:
					http.Error(w, "no", http.StatusUnprocessableEntity)
				default:
					for i := 0; r.Context().Err() == nil && i < 1000; i++ {
						fmt.Fprint(w, test.events(i))
						_ = http.NewResponseController(w).Flush()
					}
					<-r.Context().Done()
				}
			}))
			t.Cleanup(h.Close)
			c := runWith(t, Options{Config: &rest.Config{Host: h.URL}, Untrusted: &UntrustedLimits{Objects: 5}}, Servers().Table())
			most := 0
			kubetest.Eventually(t, 20*time.Second, func() error {
				most = max(most, c.Status()[0].Objects)
				if s := c.Status()[0]; !strings.Contains(s.Detail, "it has more than 5 objects of the kind") {
					return fmt.Errorf("%d objects, %s %q", s.Objects, s.State, s.Detail)
				}
				return nil
			})
			if most > 5+200 { // events are on their way to the table
				t.Errorf("%d objects", most)
			}
		})
	}
}

// The limits hold for all pages of a listing together, because each page may announce another one.
func TestForeignListingIsLimitedAsAWhole(t *testing.T) {
	for name, test := range map[string]struct {
		limits UntrustedLimits
		want   string
	}{
		"bytes": {UntrustedLimits{ListBytes: 10_000}, "its listing is larger than 10000 bytes"},
		"time":  {UntrustedLimits{ListTime: 300 * time.Millisecond}, "its listing takes longer than 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			c := runWith(t, Options{Config: pagesOf(t, math.MaxInt), Untrusted: &test.limits}, Servers().Table())
			kubetest.Eventually(t, 20*time.Second, func() error {
				if s := c.Status()[0]; !strings.Contains(s.Detail, test.want) {
					return fmt.Errorf("%s %q, want %q", s.State, s.Detail, test.want)
				}
				return nil
			})
		})
	}
}

// A listing that comes as a stream is limited as a whole, too, whatever the events are and however often an
// object is repeated.
func TestUntrustedStreamedListingIsLimited(t *testing.T) {
	var log logtest.Buffer
	runLogged(t, &log, Options{Config: untrustedServer(t, 0, true, 2000), Untrusted: &UntrustedLimits{ListBytes: 1_000_000}}, Servers().Table())
	// The state lasts until the next listing only, which the server answers with no objects.
	kubetest.Eventually(t, 20*time.Second, func() error {
		if want := "its listing is larger than 1000000 bytes"; !strings.Contains(log.String(), want) {
			return fmt.Errorf("the log lacks %q:\n%s", want, log.String())
		}
		return nil
	})
}

// A response that is no listing is small. Its limit is not that of a listing, because it is read as a whole.
func TestUntrustedDocumentsAreLimited(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < 64 && r.Context().Err() == nil; i++ {
			n, err := w.Write(bytes.Repeat([]byte(" "), 1<<20))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"}}`)
	}))
	t.Cleanup(server.Close)
	c, err := New(Options{Config: &rest.Config{Host: server.URL}, Untrusted: &UntrustedLimits{}}, Servers().Table())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.disconnect)
	source := c.feeds[0].parts[0].source
	for name, ask := range map[string]func() error{
		"current version": func() error { _, err := source.currentVersion(t.Context()); return err },
		"discovery":       func() error { _, err := source.terminating(t.Context()); return err },
	} {
		sent.Store(0)
		if err := ask(); err == nil || !strings.Contains(err.Error(), "its response is larger than") {
			t.Errorf("%s: %v", name, err)
		}
		if n := sent.Load(); n > 32<<20 {
			t.Errorf("%s: the server could send %d MiB", name, n>>20)
		}
	}
}

// A listing in JSON is cut off at the first object that is too many or too large. Reading it as a whole takes
// up to hundreds of times its size in memory, which ends the process.
func TestUntrustedListingIsReadObjectByObject(t *testing.T) {
	const chunk = 64 << 10
	for name, test := range map[string]struct {
		begin, repeated, want string
	}{
		"many small objects":  {`{"items":[{}`, `,{}`, "it has more than 1000 objects of the kind"},
		"one large object":    {`{"items":[{"metadata":{"name":"`, "a", "an object of its listing is larger than 100000 bytes"},
		"many spaces":         {`{"items":[`, " ", "an object of its listing is larger than 100000 bytes"},
		"a large other field": {`{"other":[0`, ",0", "an object of its listing is larger than 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("watch") != "" {
					http.Error(w, "no", http.StatusUnprocessableEntity)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, test.begin)
				sent.Store(0)
				for filling := strings.Repeat(test.repeated, chunk/len(test.repeated)); sent.Load() < 64<<20; sent.Add(chunk) {
					if _, err := io.WriteString(w, filling); err != nil {
						return
					}
				}
			}))
			t.Cleanup(server.Close)
			limits := &UntrustedLimits{Objects: 1000, ListBytes: 2_000_000, EventBytes: 100_000}
			c, err := New(Options{Config: &rest.Config{Host: server.URL}, Untrusted: limits}, Servers().Table())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.disconnect)
			_, err = c.feeds[0].parts[0].source.listings()(t.Context(), metav1.ListOptions{})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if n := sent.Load(); n > 32<<20 {
				t.Errorf("the server could send %d MiB", n>>20)
			}
		})
	}
}

// A list in JSON that is not complete is an error, never a shorter list.
func TestUntrustedListingIsComplete(t *testing.T) {
	const whole = `{"kind":"ServerList","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"resourceVersion":"9","continue":"c"},"items":[` +
		`{"kind":"Server","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"namespace":"ns","name":"a","resourceVersion":"7"}},{"metadata":{"namespace":"ns","name":"b","resourceVersion":"8"}}],"a":"\"}","b":-1.5e3 ,"other":{"a":[1,"]\\"]}}`
	c, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1"}, Untrusted: &UntrustedLimits{}}, Servers().Table())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.disconnect)
	read := func(text string) (*entryList, error) {
		l, err := newJSONLister(strings.NewReader(text), c.feeds[0].parts[0].source, func(int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return l.list()
	}
	for n := range len(whole) {
		if list, err := read(whole[:n]); err == nil {
			t.Errorf("the first %d bytes are a list of %d objects", n, len(list.Items))
		}
	}
	for _, text := range []string{`[]`, `null`, `{}`, `{"items":{}}`, `{"items":5}`, `{"items":nul}`, `{"items" []}`, `{"items":[{}{}]}`, `{"items":[{},]}`, `{"items":[] "a":5}`, `{5:5,"items":[]}`, `{"a":x,"items":[]}`, `{"items":[5]}`, `{"items":[{"kind":"Secret","apiVersion":"v1"}]}`, `{"metadata":5,"items":[]}`} {
		if list, err := read(text); err == nil {
			t.Errorf("%s is a list of %d objects", text, len(list.Items))
		}
	}
	list, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	var keys []key
	for _, item := range list.Items {
		keys = append(keys, item.(*entry).key)
	}
	if want := []key{{"ns", "a"}, {"ns", "b"}}; !slices.Equal(keys, want) || list.ResourceVersion != "9" || list.Continue != "c" {
		t.Errorf("objects %v, metadata %+v", keys, list.ListMeta)
	}
	if list, err := read(`{"items":null,"metadata":{"resourceVersion":"9"}}`); err != nil || len(list.Items) != 0 || list.ResourceVersion != "9" {
		t.Errorf("no items: %+v, error %v", list, err)
	}
}

// A listing within the limits isn't charged with the one before.
func TestForeignListingsAreLimitedOneByOne(t *testing.T) {
	c := runWith(t, Options{Config: pagesOf(t, 3), Untrusted: &UntrustedLimits{ListBytes: 10_000, Objects: 5}}, Servers().Table())
	list := c.feeds[0].parts[0].source.listings()
	for range 5 {
		opts := metav1.ListOptions{}
		for pages := 1; ; pages++ {
			page, err := list(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			m, err := meta.ListAccessor(page)
			if err != nil {
				t.Fatal(err)
			}
			if opts.Continue = m.GetContinue(); opts.Continue == "" {
				if pages != 3 {
					t.Errorf("%d pages, want 3", pages)
				}
				break
			}
		}
	}
	await(t, c, Servers().Name, Synced, "")
}

// pagesOf returns the config of a server that lists one object of about 2,000 bytes on each of n pages.
func pagesOf(t *testing.T, n int) *rest.Config {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case q.Get("watch") == "":
			i, _ := strconv.Atoi(q.Get("continue"))
			more := ""
			if i+1 < n {
				more = strconv.Itoa(i + 1)
			}
			fmt.Fprintf(w, `{"kind":"ServerList","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"resourceVersion":"9","continue":%q},"items":[`+
				`{"kind":"Server","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"namespace":"ns","name":"s%d","resourceVersion":"9","annotations":{"a":%q}}}]}`, more, i, strings.Repeat("a", 2000))
		case q.Get("sendInitialEvents") == "true":
			http.Error(w, "no", http.StatusUnprocessableEntity)
		default:
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// An event that goes on for ever is cut off, and what comes after short ones is not.
func TestMeter(t *testing.T) {
	m := &meter{Reader: endless{}, untrusted: &UntrustedLimits{EventBytes: 1000}}
	n, err := io.Copy(io.Discard, m)
	if exceeded := limitError(""); !errors.As(err, &exceeded) || n > 100_000 {
		t.Errorf("%d bytes, error %v", n, err)
	}
	m.read = 0
	if n, err := m.Read(make([]byte, 10)); n != 10 || err != nil {
		t.Errorf("%d bytes of the next event, error %v", n, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// What is concealed still says what to do about it.
func TestConceal(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason) error {
		return fmt.Errorf("hunter2: %w", &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "hunter2",
			Details: &metav1.StatusDetails{Name: "hunter2", RetryAfterSeconds: 7, Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "hunter2"}}},
		}})
	}
	for name, test := range map[string]struct {
		err    error
		reason Reason
		check  func(error) bool
	}{
		"not found":    {status(404, "NotFound"), NotFound, apierrors.IsNotFound},
		"forbidden":    {status(403, "hunter2"), Forbidden, apierrors.IsForbidden},
		"unauthorized": {status(401, ""), Unauthorized, apierrors.IsUnauthorized},
		"expired":      {status(410, metav1.StatusReasonExpired), ServerError, apierrors.IsResourceExpired},
		"too large":    {status(504, "Timeout"), ServerError, outdated},
		"busy":         {status(429, ""), ServerError, func(err error) bool { after, _ := apierrors.SuggestsClientDelay(err); return after == 7 }},
		"odd code":     {status(77777, ""), ServerError, func(err error) bool { return strings.Contains(err.Error(), badResponse) }},
		"cancelled":    {fmt.Errorf("hunter2: %w", context.Canceled), Unreachable, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"other":        {errors.New("hunter2"), Unreachable, func(err error) bool { return err.Error() == badResponse }},
		"ours":         {fmt.Errorf("hunter2: %w", limitError("too much")), ServerError, func(err error) bool { return err.Error() == "too much" }},
	} {
		t.Run(name, func(t *testing.T) {
			got := conceal(test.err)
			if reason := reasonOf(got); reason != test.reason || !test.check(got) || strings.Contains(fmt.Sprintf("%v", got), "hunter2") {
				t.Errorf("%v for the reason %s, want %s", got, reason, test.reason)
			}
		})
	}
}

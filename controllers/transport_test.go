package controllers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// journal records the writes of the controllers. A request is recorded before it is sent, so that it is found
// once its effect is visible.
type journal struct {
	mu      sync.Mutex
	entries []*noted
	// refused are the namespaces and beginnings of names of Endpoints and slices whose writes are refused.
	refused map[[2]string]bool
	// loseResponses is the number of the next writes of slices in a namespace that are carried out but
	// answered with 503, by the prefix of their names.
	loseResponses map[[2]string]int
}

// loseResponse loses the response of the next write of a slice: the write is carried out, and the client gets
// 503.
func (s *fixture) loseResponse(prefix string) {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if s.journal.loseResponses == nil {
		s.journal.loseResponses = map[[2]string]int{}
	}
	s.journal.loseResponses[[2]string{s.ns, prefix}]++
}

// loses reports whether the response of a write is lost.
func (j *journal) loses(e entry) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for of, n := range j.loseResponses {
		if n > 0 && e.namespace == of[0] && strings.HasPrefix(e.name, of[1]) && e.resource == "endpointslices" {
			j.loseResponses[of]--
			return true
		}
	}
	return false
}

// refuse refuses writes of Endpoints and slices as invalid until end is called.
func (s *fixture) refuse(prefix string) (end func()) {
	of := [2]string{s.ns, prefix}
	set := func(refused bool) {
		s.journal.mu.Lock()
		defer s.journal.mu.Unlock()
		if s.journal.refused == nil {
			s.journal.refused = map[[2]string]bool{}
		}
		s.journal.refused[of] = refused
	}
	set(true)
	return func() { set(false) }
}

// refuses reports whether a write is refused.
func (j *journal) refuses(e entry) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for of, refused := range j.refused {
		if refused && e.namespace == of[0] && strings.HasPrefix(e.name, of[1]) && (e.resource == "endpoints" || e.resource == "endpointslices") {
			return true
		}
	}
	return false
}

// refusal is the response to a refused write.
func refusal(r *http.Request, e entry) *http.Response {
	return errorResponse(r, apierrors.NewInvalid(schema.GroupKind{Kind: e.resource}, e.name, nil))
}

// errorResponse is a response with an error.
func errorResponse(r *http.Request, err apierrors.APIStatus) *http.Response {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	body, _ := json.Marshal(status)
	return &http.Response{
		StatusCode: int(status.Code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}
}

// noted is a request whose response is known once done is closed.
type noted struct {
	entry
	done chan struct{}
}

// entry is one request.
type entry struct {
	method, namespace, resource, name string
	// reason is that of an Event.
	reason string
	status int
}

func (e entry) String() string {
	return fmt.Sprintf("%s %s %s%s: %d", e.method, e.resource, e.name, e.reason, e.status)
}

// in returns the requests about a namespace after the first since requests, once they have responses.
func (j *journal) in(namespace string, since int) []entry {
	j.mu.Lock()
	made := slices.Clone(j.entries[since:])
	j.mu.Unlock()
	var list []entry
	for _, n := range made {
		if n.namespace == namespace {
			<-n.done
			list = append(list, n.entry)
		}
	}
	return list
}

// note records a request.
func (j *journal) note(e entry) *noted {
	n := &noted{entry: e, done: make(chan struct{})}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, n)
	return n
}

// now returns the number of requests so far.
func (j *journal) now() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries)
}

func (j *journal) wrap(base http.RoundTripper) http.RoundTripper {
	return wrapper{base, func(r *http.Request) (*http.Response, error) {
		e, err := describe(r)
		if err != nil {
			return nil, err
		}
		if r.Method == http.MethodGet {
			return base.RoundTrip(r)
		}
		n := j.note(e)
		defer close(n.done)
		if j.refuses(e) {
			n.status = http.StatusUnprocessableEntity
			return refusal(r, e), nil
		}
		response, err := base.RoundTrip(r)
		if err == nil {
			n.status = response.StatusCode
		}
		if err == nil && j.loses(e) {
			_ = response.Body.Close()
			return errorResponse(r, apierrors.NewServiceUnavailable("the response is lost")), nil
		}
		return response, err
	}}
}

// describe reads a request, which can still be sent afterwards.
func describe(r *http.Request) (entry, error) {
	e := entry{method: r.Method}
	// …/namespaces/<namespace>/<resource>[/<name>]
	_, path, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")
	if len(parts) > 1 {
		e.namespace, e.resource = parts[0], parts[1]
	}
	if len(parts) > 2 {
		e.name = parts[2]
	}
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		return e, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return e, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil) // JSON or protobuf
	if err != nil {
		return e, err
	}
	named, err := meta.Accessor(object)
	if err != nil {
		return e, err
	}
	e.name = named.GetName()
	if event, ok := object.(*corev1.Event); ok {
		e.name, e.reason = event.InvolvedObject.Name+" ", event.Reason
	}
	return e, nil
}

// watchDelays delays the events of resources, as a slow watch does.
type watchDelays struct {
	mu     sync.Mutex
	closed map[string]chan struct{}
}

func newWatchDelays() *watchDelays { return &watchDelays{closed: map[string]chan struct{}{}} }

// hold delays the events of resources until the returned function is called or the test ends.
func (g *watchDelays) hold(t testing.TB, resources ...string) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range resources {
		g.closed[r] = make(chan struct{})
	}
	release = sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, r := range resources {
			close(g.closed[r])
			delete(g.closed, r)
		}
	})
	t.Cleanup(release)
	return release
}

func (g *watchDelays) delayOf(resource string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed[resource]
}

func (g *watchDelays) wrap(base http.RoundTripper) http.RoundTripper {
	return wrapper{base, func(r *http.Request) (*http.Response, error) {
		response, err := base.RoundTrip(r)
		if err == nil {
			parts := strings.Split(r.URL.Path, "/")
			response.Body = &delayedBody{response.Body, g, parts[len(parts)-1], r}
		}
		return response, err
	}}
}

// delayedBody is the body of a response, which can be delayed.
type delayedBody struct {
	io.ReadCloser
	watchDelays *watchDelays
	resource    string
	request     *http.Request
}

func (b *delayedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if closed := b.watchDelays.delayOf(b.resource); closed != nil {
		select {
		case <-closed:
		case <-b.request.Context().Done():
		}
	}
	return n, err
}

// wrapper is a transport around another one.
type wrapper struct {
	base http.RoundTripper
	send func(*http.Request) (*http.Response, error)
}

func (w wrapper) RoundTrip(r *http.Request) (*http.Response, error) { return w.send(r) }

// WrappedRoundTripper lets client-go close idle connections.
func (w wrapper) WrappedRoundTripper() http.RoundTripper { return w.base }

// texts formats entries, sorted.
func texts(entries []entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e.String())
	}
	slices.Sort(list)
	return list
}

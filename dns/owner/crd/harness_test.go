package crd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../../deploy/crds")))
}

// fixture is an owner in a namespace of its own.
type fixture struct {
	*claims.Owner
	t         *testing.T
	client    client
	cluster   *kubetest.Cluster
	namespace string
	faults    *faults
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	cluster := kubetest.Start(t)
	s := &fixture{t: t, cluster: cluster, namespace: cluster.Namespace(t), faults: &faults{}}
	s.Owner = s.restart("me", "")
	return s
}

// restart returns an owner as a new process has it.
func (s *fixture) restart(id, old string) *claims.Owner {
	s.t.Helper()
	config := rest.CopyConfig(s.cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { s.faults.next = next; return s.faults })
	o, err := New(Options{Config: config, Namespace: s.namespace, ID: id, OldOwner: old, Refresh: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	s.client = o.Store.(*store).client
	s.load(o)
	return o
}

func (s *fixture) load(o *claims.Owner) {
	s.t.Helper()
	if err := o.Load(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// faults makes requests fail.
type faults struct {
	next http.RoundTripper
	mu   sync.Mutex
	fail func(*http.Request) bool
}

func (f *faults) set(fail func(*http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail != nil && fail(r) {
		if r.Body != nil {
			r.Body.Close()
		}
		return &http.Response{
			StatusCode: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"text/plain"}},
			Body: io.NopCloser(strings.NewReader("out of order")), Request: r,
		}, nil
	}
	return f.next.RoundTrip(r)
}

func statusWrites(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/status")
}

func record(name, target string, labels ...string) *dns.RecordSet {
	r := &dns.RecordSet{Name: name, Type: dns.TypeA, Targets: []string{target}, Labels: map[string]string{}}
	for i := 0; i+1 < len(labels); i += 2 {
		r.Labels[labels[i]] = labels[i+1]
	}
	return r
}

// before calls Before with one change and expects it to be applied.
func (s *fixture) before(o *claims.Owner, c dns.Change) {
	s.t.Helper()
	apply, refused, err := o.Before(s.t.Context(), nil, []dns.Change{c})
	if err != nil || len(apply) != 1 || len(refused) != 0 {
		s.t.Fatalf("Before returned %d changes, %d refused, %v; want one change", len(apply), len(refused), err)
	}
}

func (s *fixture) after(o *claims.Owner, c dns.Change) {
	s.t.Helper()
	if err := o.After(s.t.Context(), []dns.Change{c}); err != nil {
		s.t.Fatal(err)
	}
}

// make has an owner make a change.
func (s *fixture) make(o *claims.Owner, c dns.Change) {
	s.t.Helper()
	s.before(o, c)
	s.after(o, c)
}

// object returns the object of a record set, nil if there is none.
func (s *fixture) object(r *dns.RecordSet) *externaldns.DNSRecord {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	list, err := s.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].Name == ObjectName(r.Key()) {
			return &list.Items[i]
		}
	}
	return nil
}

// expect checks the owner of the object of a record set, its target, and the status and
// reason of its condition Ready.
func (s *fixture) expect(r *dns.RecordSet, want string) {
	s.t.Helper()
	got := "none"
	if object := s.object(r); object != nil {
		got = object.Labels[externaldns.LabelOwner] + " " + strings.Join(object.Spec.Endpoint.Targets, ",")
		if ready := meta.FindStatusCondition(object.Status.Conditions, externaldns.ConditionReady); ready != nil {
			got += " " + string(ready.Status) + " " + ready.Reason
		}
	}
	if got != want {
		s.t.Errorf("object of %s: %s, want %s", r.Name, got, want)
	}
}

// list has an owner see a listing of the zone.
func (s *fixture) list(o *claims.Owner, records ...*dns.RecordSet) {
	s.t.Helper()
	s.load(o)
	zoneOf := func(string) string { return "example.com" }
	o.Listed(s.t.Context(), owner.Listing{Zone: "example.com", ZoneOf: zoneOf, Records: records})
}

// owned checks whom Labels says a listed record belongs to; "" is for nobody.
func (s *fixture) owned(o *claims.Owner, r *dns.RecordSet, want string) {
	s.t.Helper()
	listed := r.Clone()
	listed.Labels = nil
	labels, rewrite := o.Labels(nil, listed)
	if got := labels[dns.LabelOwner]; got != want || rewrite {
		s.t.Errorf("owner of %s %v: %q, rewrite %t, want %q", r.Name, r.Targets, got, rewrite, want)
	}
}

var errLost = errors.New("no answer: the connection was lost")

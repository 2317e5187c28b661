package crd

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/dns/provider"
)

// case 93: a record set that is created has an object with a label. Its reason is Accepted
// before, and Programmed afterwards.
func TestCreate(t *testing.T) {
	s := newFixture(t)
	r := record("a.example.com", "192.0.2.1", dns.LabelResource, "service/default/a", dns.LabelOwner, "me")
	r.TTL, r.Properties = 60, []dns.Property{{Name: "alias", Value: "false"}}
	create := dns.Change{New: r}
	s.before(s.Owner, create)
	s.expect(r, "me 192.0.2.1 False Accepted")
	s.after(s.Owner, create)
	s.expect(r, "me 192.0.2.1 True Programmed")
	want := externaldns.Endpoint{
		DNSName: "a.example.com", Targets: []string{"192.0.2.1"}, RecordType: "A", RecordTTL: 60, Labels: r.Labels,
		ProviderSpecific: []externaldns.ProviderSpecificProperty{{Name: "alias", Value: "false"}},
	}
	if diff := gocmp.Diff(want, s.object(r).Spec.Endpoint); diff != "" {
		t.Errorf("endpoint (-want +got):\n%s", diff)
	}
	for name, o := range map[string]*claims.Owner{"same process": s.Owner, "next process": s.restart("me", "")} {
		labels, rewrite := o.Labels(nil, record("A.Example.com.", "192.0.2.99"))
		if diff := gocmp.Diff(r.Labels, labels); diff != "" || rewrite {
			t.Errorf("%s: rewrite %t, labels (-want +got):\n%s", name, rewrite, diff)
		}
		s.owned(o, record("b.example.com", "192.0.2.1"), "")
	}
	other := s.restart("them", "")
	s.owned(other, r, "")
}

// case 93: an error of the provider is in the object, and a second attempt refreshes it.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		name   string
		cause  error
		listed string // who has a record that is as ours was going to be
	}{
		{"rejected", fmt.Errorf("no: %w", provider.ErrRejected), ""},
		{"failed by itself", &provider.ApplyError{Errs: []error{errors.New("no")}}, ""},
		{"nobody knows", errLost, "me"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(t)
			first, second := record("a.example.com", "192.0.2.1"), record("a.example.com", "192.0.2.2")
			s.before(s.Owner, dns.Change{New: first})
			s.Failed(t.Context(), []dns.Change{{New: first}}, c.cause)
			s.expect(first, "me 192.0.2.1 False Failed")
			if ready := meta.FindStatusCondition(s.object(first).Status.Conditions, externaldns.ConditionReady); !strings.Contains(ready.Message, "no") {
				t.Errorf("message %q doesn't say what is wrong", ready.Message)
			}
			for _, o := range []*claims.Owner{s.Owner, s.restart("me", "")} {
				s.owned(o, first, c.listed)
				s.owned(o, second, "") // case 95: what failed is not there
			}
			s.make(s.Owner, dns.Change{New: second})
			s.expect(second, "me 192.0.2.2 True Programmed")
			s.owned(s.Owner, second, "me")
		})
	}
}

// case 93: an update or a deletion doesn't fail if the object is gone.
func TestObjectsGone(t *testing.T) {
	s := newFixture(t)
	a, b, b2 := record("a.example.com", "192.0.2.1"), record("b.example.com", "192.0.2.1"), record("b.example.com", "192.0.2.2")
	for _, r := range []*dns.RecordSet{a, b} {
		s.make(s.Owner, dns.Change{New: r})
		if err := s.client.Delete(t.Context(), ObjectName(r.Key()), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.make(s.Owner, dns.Change{Old: a})
	s.expect(a, "none")
	s.make(s.Owner, dns.Change{Old: b, New: b2})
	s.expect(b2, "me 192.0.2.2 True Programmed")

	// While the provider works, too.
	b3 := record("b.example.com", "192.0.2.3")
	s.before(s.Owner, dns.Change{Old: b2, New: b3})
	if err := s.client.Delete(t.Context(), ObjectName(b3.Key()), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.after(s.Owner, dns.Change{Old: b2, New: b3})
}

func TestUpdateAndDelete(t *testing.T) {
	s := newFixture(t)
	a, a2 := record("a.example.com", "192.0.2.1"), record("a.example.com", "192.0.2.2")
	s.make(s.Owner, dns.Change{New: a})
	s.before(s.Owner, dns.Change{Old: a, New: a2})
	s.expect(a2, "me 192.0.2.2 False Accepted")
	s.owned(s.restart("me", ""), a, "me") // a crash here doesn't lose it

	// Somebody else writes the object meanwhile, and keeps what they wrote.
	live := s.object(a)
	live.Annotations = map[string]string{"note": "theirs"}
	if _, err := s.client.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.after(s.Owner, dns.Change{Old: a, New: a2})
	s.expect(a2, "me 192.0.2.2 True Programmed")
	if s.object(a).Annotations["note"] != "theirs" {
		t.Error("the annotation of somebody else is gone")
	}
	s.before(s.Owner, dns.Change{Old: a2})
	s.expect(a2, "me 192.0.2.2 True Programmed")
	s.after(s.Owner, dns.Change{Old: a2})
	s.expect(a2, "none")
	s.owned(s.Owner, a2, "")
}

// case 93: a status that can't be written is no failure of the change.
func TestStatusFails(t *testing.T) {
	s := newFixture(t)
	a := record("a.example.com", "192.0.2.1")
	s.faults.set(statusWrites)
	s.make(s.Owner, dns.Change{New: a})
	s.expect(a, "me 192.0.2.1")
	s.owned(s.Owner, a, "me")
	s.owned(s.restart("me", ""), a, "me") // the annotation says what was going to be made

	s.faults.set(nil)
	b := record("b.example.com", "192.0.2.1")
	s.before(s.Owner, dns.Change{New: b})
	s.faults.set(statusWrites)
	s.after(s.Owner, dns.Change{New: b})
	s.faults.set(nil)
	s.expect(b, "me 192.0.2.1 False Accepted")
	s.owned(s.Owner, b, "me")
	s.owned(s.restart("me", ""), b, "me")
}

// If an object can't be written, the change isn't made.
func TestWriteFails(t *testing.T) {
	s := newFixture(t)
	s.faults.set(func(r *http.Request) bool { return r.Method == http.MethodPost })
	_, _, err := s.Before(t.Context(), nil, []dns.Change{{New: record("a.example.com", "192.0.2.1")}})
	if err == nil || !strings.Contains(err.Error(), "write DNSRecord "+s.namespace+"/a-example-com-") {
		t.Errorf("Before: %v, want an error that names the object", err)
	}
}

// Objects of somebody else are left alone, and their records too.
func TestRefused(t *testing.T) {
	s := newFixture(t)
	them := s.restart("them", "")
	a, mine := record("a.example.com", "192.0.2.1"), record("a.example.com", "192.0.2.2")
	s.make(them, dns.Change{New: a})
	b := record("b.example.com", "192.0.2.1")
	apply, refused, err := s.Before(t.Context(), nil, []dns.Change{{New: mine}, {New: b}})
	if err != nil || len(apply) != 1 || apply[0].New.Name != b.Name || len(refused) != 1 || refused[0].New != mine {
		t.Errorf("Before returned %v, refused %v, %v", apply, refused, err)
	}
	s.expect(a, "them 192.0.2.1 True Programmed")
}

// If the object of a deleted record can't be deleted, it claims nothing. It is deleted after the
// next listing, unless the record is created again.
func TestDeletionFails(t *testing.T) {
	s := newFixture(t)
	a, b := record("a.example.com", "192.0.2.1"), record("b.example.com", "192.0.2.1")
	s.make(s.Owner, dns.Change{New: a})
	s.make(s.Owner, dns.Change{New: b})
	s.faults.set(func(r *http.Request) bool { return r.Method == http.MethodDelete })
	err := s.After(t.Context(), []dns.Change{{Old: a}, {Old: b}})
	if err == nil || !strings.Contains(err.Error(), "delete DNSRecord "+s.namespace+"/a-example-com-") {
		t.Errorf("After: %v, want an error that names the object", err)
	}
	s.load(s.Owner)
	s.owned(s.Owner, a, "")
	s.before(s.Owner, dns.Change{New: b})
	s.faults.set(nil)
	s.after(s.Owner, dns.Change{New: b})
	s.list(s.Owner, b)
	s.expect(a, "none")
	s.expect(b, "me 192.0.2.1 True Programmed")
}

// What others do to objects is known after Load.
func TestLoadNoticesOthers(t *testing.T) {
	s := newFixture(t)
	a, b := record("a.example.com", "192.0.2.1"), record("b.example.com", "192.0.2.1")
	s.make(s.Owner, dns.Change{New: a})
	s.load(s.Owner)
	s.Changed()
	s.load(s.Owner)
	if changed := s.Changed(); len(changed) != 0 {
		t.Errorf("changed: %v, want none", changed)
	}
	if err := s.client.Delete(t.Context(), ObjectName(a.Key()), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.make(s.restart("me", ""), dns.Change{New: b})
	s.load(s.Owner)
	if diff := gocmp.Diff([]string{"a.example.com", "b.example.com"}, s.Changed()); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	s.owned(s.Owner, a, "")
	s.owned(s.Owner, b, "me")
}

// More objects than fit on a page, in one batch.
func TestMany(t *testing.T) {
	s := newFixture(t)
	var changes []dns.Change
	for i := range pageSize + 20 {
		changes = append(changes, dns.Change{New: record(fmt.Sprintf("host-%d.example.com", i), "192.0.2.1")})
	}
	apply, refused, err := s.Before(t.Context(), nil, changes)
	if err != nil || len(refused) != 0 || len(apply) != len(changes) {
		t.Fatalf("Before returned %d changes, %d refused, %v", len(apply), len(refused), err)
	}
	if err := s.After(t.Context(), apply); err != nil {
		t.Fatal(err)
	}
	next := s.restart("me", "")
	for _, c := range changes {
		s.owned(next, c.New, "me")
	}
}

// An object that can't be read doesn't affect others. After an error the owner keeps what it
// knew.
func TestLoadErrors(t *testing.T) {
	const good = `{"metadata":{"name":"a","labels":{"externaldns.k8s.io/owner":"me"}},
		"spec":{"endpoint":{"dnsName":"a.example.com","recordType":"A","targets":["192.0.2.1"]}},
		"status":{"conditions":[{"type":"Ready","status":"True","reason":"Programmed"}]}}`
	answers := []struct {
		code int
		body string
		want string
	}{
		{http.StatusOK, `{"kind":"DNSRecordList","apiVersion":"externaldns.k8s.io/v1alpha1","items":[
			{"metadata":{"name":"bad"},"spec":{"endpoint":[]}},` + good + `]}`, ""},
		{http.StatusInternalServerError, "out of order", "list the DNSRecords in namespace default"},
		{http.StatusNotFound, "no such kind", "apply deploy/crds/externaldns.k8s.io_dnsrecords.yaml"},
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answers[asked].code)
		fmt.Fprint(w, answers[asked].body)
	}))
	defer server.Close()
	o, err := New(Options{Config: &rest.Config{Host: server.URL}, HTTPClient: server.Client(), ID: "me", Refresh: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		asked = i
		err := o.Load(t.Context())
		if a.want == "" && err != nil || a.want != "" && (err == nil || !strings.Contains(err.Error(), a.want)) {
			t.Errorf("Load: %v, want %q", err, a.want)
		}
		if labels, rewrite := o.Labels(nil, record("a.example.com", "192.0.2.1")); labels[dns.LabelOwner] != "me" || rewrite {
			t.Errorf("labels %v, rewrite %t, want those of the good object", labels, rewrite)
		}
	}
}

// An object of another record set isn't overwritten if its name is that of a new one. Names of objects have
// hashes of four bytes, so that such a name can be found.
func TestNameOfAnotherRecord(t *testing.T) {
	s := newFixture(t)
	victim, other := record("www.example.com", "192.0.2.1"), record("other.example.com", "192.0.2.2")
	object := &externaldns.DNSRecord{ObjectMeta: metav1.ObjectMeta{Name: ObjectName(other.Key()), Labels: map[string]string{externaldns.LabelOwner: "me"}}}
	object.Spec.Endpoint = endpointOf(victim, map[string]string{dns.LabelOwner: "me"})
	if _, err := s.client.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	apply, refused, err := s.Before(t.Context(), nil, []dns.Change{{New: other}})
	if err != nil || len(apply) != 0 || len(refused) != 1 {
		t.Errorf("applied %v, refused %v, %v", apply, refused, err)
	}
	s.expect(other, "me 192.0.2.1")
}

// The requests of a batch don't wait for the rate limit of the connection, which is meant for commands.
func TestNoRateLimit(t *testing.T) {
	c, err := newClient(&rest.Config{Host: "http://api.test", QPS: 50, Burst: 100}, http.DefaultClient, "default")
	if err != nil {
		t.Fatal(err)
	}
	if limiter := c.GetClient().GetRateLimiter(); limiter != nil {
		t.Errorf("the limit is %v a second", limiter.QPS())
	}
}

// A redirected write isn't sent as a GET, whose response would look like that of the write.
func TestRedirectedWrite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"DNSRecord","apiVersion":"externaldns.k8s.io/v1alpha1","metadata":{"name":"web","uid":"1"}}`)
	}))
	defer server.Close()
	c, err := newClient(&rest.Config{Host: server.URL}, nil, "default")
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Create(t.Context(), &externaldns.DNSRecord{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != http.StatusFound {
		t.Errorf("the write returned %v, %v", made, err)
	}
}

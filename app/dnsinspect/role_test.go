package dnsinspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/dnsinspect"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const webService = `{apiVersion: v1, kind: Service, metadata: {name: %s, annotations: {external-dns.alpha.kubernetes.io/hostname: %[1]s.example.test}},
spec: {type: LoadBalancer, clusterIP: 10.0.0.1, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`

// A listener gets changed records, and a standby names the leader.
func TestRole(t *testing.T) {
	s := startScenario(t, "", "other A 192.0.2.9\n", nil)
	s.apply(fmt.Sprintf(webService, "web"))
	s.run()
	s.settle("")
	if d, err := s.role.RecordChanges(t.Context(), 100); err != nil || !d.Reset {
		t.Fatal(d, err)
	}
	s.apply(fmt.Sprintf(webService, "new"))
	kubetest.Eventually(t, 20*time.Second, func() error {
		d, err := s.role.RecordChanges(t.Context(), 100)
		if err != nil {
			return err
		}
		for _, r := range d.Changed {
			if r.Name == "new.example.test" && r.State == inspect.RecordPublished && !d.Reset {
				return nil
			}
		}
		return fmt.Errorf("told is %+v", d)
	})
	list, err := s.role.Records(t.Context(), inspect.RecordFilter{Publisher: "", Limit: 1})
	if err != nil || list.Total != 4 || len(list.Records) != 1 || list.Next != 1 {
		t.Errorf("a page: %+v, %v", list, err)
	}
	ids := map[string]bool{}
	for offset := range 4 {
		list, err := s.role.Records(t.Context(), inspect.RecordFilter{Offset: offset, Limit: 1})
		if err != nil || len(list.Records) != 1 {
			t.Fatal(list, err)
		}
		ids[list.Records[0].ID] = true
		if text, err := json.Marshal(list.Records[0]); err != nil || len(text) > 4096 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	}
	if len(ids) != 4 {
		t.Errorf("the IDs of four records are %v", ids)
	}
	if list, err := s.role.Records(t.Context(), inspect.RecordFilter{Publisher: "another", Limit: 1}); err != nil || list.Total != 0 {
		t.Errorf("of another publisher: %+v, %v", list, err)
	}
	s.apply(fmt.Sprintf(webService, "newer"))
	kubetest.Eventually(t, 20*time.Second, func() error {
		if d, err := s.role.RecordChanges(t.Context(), 0); err != nil || !d.Reset || len(d.Changed) > 0 {
			return fmt.Errorf("more than asked for: %+v, %v", d, err)
		}
		return nil
	})

	standby := dnsinspect.New([]dnsinspect.Publisher{{Publisher: s.opened.Publisher}}, func() (bool, string) { return false, "pod-1" })
	var elsewhere *inspect.NotLeading
	if _, err := standby.Records(t.Context(), inspect.RecordFilter{Limit: 1}); !errors.As(err, &elsewhere) || elsewhere.Leader != "pod-1" {
		t.Errorf("records of a standby: %v", err)
	}
	if _, err := standby.Zones(t.Context()); !errors.As(err, &elsewhere) {
		t.Errorf("zones of a standby: %v", err)
	}
	if _, err := standby.RecordChanges(t.Context(), 1); !errors.As(err, &elsewhere) {
		t.Errorf("changes of a standby: %v", err)
	}
}

// A standby knows the objects that ask for a name, and names the leader for the rest.
func TestExplainOnStandby(t *testing.T) {
	s := startScenario(t, "", "", nil)
	s.apply(fmt.Sprintf(webService, "web"))
	s.standby = true
	s.run()
	role := dnsinspect.New([]dnsinspect.Publisher{{Publisher: s.opened.Publisher}}, func() (bool, string) { return false, "pod-1" })
	kubetest.Eventually(t, 20*time.Second, func() error {
		e := inspect.Conclude("www.example.test", role.Explain(t.Context(), inspect.Query{Name: "web.example.test"}))
		const want = "only the leader knows the content of the zones: this process does not lead: ask the leader, pod-1"
		if e.Verdict != inspect.VerdictUnknown || e.Summary != want || len(e.Steps) != 2 {
			return fmt.Errorf("%+v", e)
		}
		return nil
	})
	// Only the leader knows whether a zone has a name that no object asks for.
	e := inspect.Conclude("mail.example.test", role.Explain(t.Context(), inspect.Query{Name: "mail.example.test"}))
	const want = "no object asks for mail.example.test, and only the leader knows whether a zone has it: this process does not lead: ask the leader, pod-1"
	if e.Verdict != inspect.VerdictUnknown || e.Summary != want || len(e.Steps) != 1 {
		t.Errorf("a name that no object asks for: %+v", e)
	}
	address := inspect.Query{Address: netip.MustParseAddrPort("192.0.2.1:80")}
	steps := role.Explain(t.Context(), address)
	if len(steps) != 1 || steps[0].State != inspect.StepNote || steps[0].Text != "only the leader knows the records with this address: this process does not lead: ask the leader, pod-1" {
		t.Errorf("an address: %+v", steps)
	}
}

// A part of an object that can't be used is a problem until it is corrected.
func TestProblemsOfObjects(t *testing.T) {
	s := startScenario(t, "", "", nil)
	const web = `{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {external-dns.kubernetes.io/hostname: web.example.test, external-dns.kubernetes.io/ttl: %q}},
spec: {type: LoadBalancer, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`
	s.apply(fmt.Sprintf(web, "5minutes"))
	s.run()
	s.settle("")
	publishers := []dnsinspect.Publisher{{Name: "public", Publisher: s.opened.Publisher}}
	all := dnsinspect.Problems(publishers)
	if len(all) != 1 || all[0].Object != (inspect.ObjectRef{Kind: "Service", Namespace: "default", Name: "web"}) ||
		all[0].Field != "external-dns.kubernetes.io/ttl" || all[0].Value != "5minutes" || all[0].Since.IsZero() || all[0].ID == "" {
		t.Fatalf("the problems are %+v", all)
	}
	s.apply(fmt.Sprintf(web, "5m"))
	kubetest.Eventually(t, 20*time.Second, func() error {
		if all := dnsinspect.Problems(publishers); len(all) > 0 {
			return fmt.Errorf("after the correction the problems are %+v", all)
		}
		return nil
	})
}

// Each object of a shared name is shown with the targets that it asks for itself.
func TestTargetsOfASharedName(t *testing.T) {
	s := startScenario(t, "", "", nil)
	const web = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s, annotations: {external-dns.kubernetes.io/hostname: www.example.test}},
spec: {type: LoadBalancer, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: %s}]}}}`
	s.apply(fmt.Sprintf(web, "bank", "192.0.2.1"))
	s.apply(fmt.Sprintf(web, "shop", "192.0.2.2"))
	s.run()
	s.settle("")
	for _, q := range []inspect.Query{{Name: "www.example.test"}, {Service: &inspect.ServiceQuery{Namespace: "bank", Name: "web"}}, {Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web"}}} {
		for _, step := range s.role.Explain(t.Context(), q) {
			if step.What != "Object" {
				continue
			}
			want := map[string]string{"bank": `A "192.0.2.1"`, "shop": `A "192.0.2.2"`}[step.Object.Namespace]
			if len(step.More) != 1 || step.More[0] != want {
				t.Errorf("%+v: the step %q has the lines %q, want %q", q, step.Text, step.More, want)
			}
		}
	}
}

// The explanation of an object that lost its address says that the deletion of its record is held.
func TestExplainHeldOfObject(t *testing.T) {
	s := startScenario(t, "", "", []string{"--max-deletions=0", "--max-deletions-percent=0"})
	web := fmt.Sprintf(webService, "web")
	s.apply(web)
	s.run()
	published := s.settle("")
	s.apply(strings.Replace(web, "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}", "status: {}", 1))
	s.settle(published)
	if got := s.explain("svc/web"); !strings.Contains(got, "status.loadBalancer has no address") || !strings.Contains(got, "Record, wrong: the A record web.example.test is held: ") {
		t.Error(got)
	}
}

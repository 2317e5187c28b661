package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// leaseRun makes histories in which two replicas hold Leases of 6 seconds.
type leaseRun struct{ entries []history.Entry }

func (r *leaseRun) at(seconds float64, e history.Entry) {
	e.At = time.Duration(seconds * float64(time.Second))
	r.entries = append(r.entries, e)
}

// lease adds a write of the Lease of the controllers; holder is empty for a release.
func (r *leaseRun) lease(at float64, replica, holder string, status int) {
	r.leaseOf(controllersLease, at, replica, holder, status)
}

func (r *leaseRun) leaseOf(name string, at float64, replica, holder string, status int) {
	answered := time.Duration(0)
	if status >= 0 {
		answered = time.Duration((at + 0.01) * float64(time.Second))
	}
	r.at(at, history.Entry{Write: &history.Write{Replica: replica, Status: status, Responded: answered, Kubernetes: &history.KubernetesWrite{
		Verb: "update", Resource: "leases", Namespace: "kube-system", Name: name, Holder: holder, Reached: true,
	}}})
}

// slice adds a write of a slice.
func (r *leaseRun) slice(at float64, replica string) { r.resource(at, replica, "endpointslices", "") }

func (r *leaseRun) resource(at float64, replica, resource, sub string) {
	r.at(at, history.Entry{Write: &history.Write{Replica: replica, Status: 200, Kubernetes: &history.KubernetesWrite{
		Verb: "update", Resource: resource, Subresource: sub, Namespace: "lab", Name: "web-0-abcde", Reached: true,
	}}})
}

func (r *leaseRun) update(at float64, replica string) {
	r.at(at, history.Entry{Write: &history.Write{Replica: replica, Update: &history.UpdateWrite{Zone: "lab.example.", Names: []string{"lb-0.lab.example."}}}})
}

func (r *leaseRun) fault(at float64, id int, kind, target string, ended bool) {
	r.at(at, history.Entry{Fault: &history.Fault{ID: id, Kind: kind, Target: target, Ended: ended}})
}

func (r *leaseRun) history() history.History {
	return history.History{Setup: history.Setup{LeaseDuration: 6 * time.Second, Namespace: "lab", Zones: []string{"lab.example."}, Owner: "lab"}, Entries: r.entries}.Sorted()
}

func TestOutsideLease(t *testing.T) {
	tests := []struct {
		name string
		play func(r *leaseRun)
		want string // part of the only finding; empty for none
	}{
		{"holds it", func(r *leaseRun) { r.lease(1, "replica-a", "a", 200); r.slice(6.9, "replica-a") }, ""},
		{"never acquired it", func(r *leaseRun) { r.slice(1, "replica-a") }, "never acquired signpost-controllers"},
		{"holds another one", func(r *leaseRun) { r.leaseOf(dnsLease, 1, "replica-a", "a", 200); r.slice(2, "replica-a") }, "never acquired"},
		{"holds that of workloads", func(r *leaseRun) { r.leaseOf(workloadsLease, 1, "replica-a", "a", 200); r.slice(2, "replica-a") }, ""},
		{"Endpoints with that of workloads", func(r *leaseRun) {
			r.leaseOf(workloadsLease, 1, "replica-a", "a", 200)
			r.resource(2, "replica-a", "endpoints", "")
		}, "never acquired signpost-controllers"},
		{"it ran out", func(r *leaseRun) { r.lease(1, "replica-a", "a", 200); r.slice(7, "replica-a") }, "6s before, and it lasts for 6s"},
		{"its renewal was refused", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(3, "replica-a", "a", 409)
			r.slice(8, "replica-a")
		}, "7s before"},
		{"its renewal wasn't answered", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(3, "replica-a", "a", -1)
			r.slice(8, "replica-a")
		}, ""},
		{"given up", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(2, "replica-a", "", 200)
			r.slice(2.5, "replica-a")
		}, "given signpost-controllers up"},
		{"acquired again", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(2, "replica-a", "", 200)
			r.lease(2.5, "replica-a", "a", 200)
			r.slice(3, "replica-a")
		}, ""},
		{"another has it", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(5.8, "replica-b", "b", 200)
			r.slice(6.3, "replica-a")
		}, "replica-b has acquired"},
		{"acquired before it ran out", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(3, "replica-a", "a", 200)
			r.lease(7.5, "replica-b", "b", 200)
		}, "has renewed it 4.5s before"},
		{"acquired before it ran out by the next process", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(3, "replica-a", "a2", 200)
		}, "has renewed it 2s before"},
		{"acquired after it was given up", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(2, "replica-a", "", 200)
			r.lease(2.1, "replica-b", "b", 200)
		}, ""},
		{"acquired by a clock that is fast", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(5.7, "replica-b", "b", 200)
		}, ""},
		{"another tried", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.lease(3, "replica-b", "b", 409)
			r.slice(3.5, "replica-a")
		}, ""},
		{"stolen", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(2.9, 1, stealKind, controllersLease, false)
			r.lease(3, "replica-b", "b", 200)
			r.slice(3.5, "replica-a")
		}, ""},
		{"etcd is restored to a Lease of another replica", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(2, 1, restoreKind, "etcd", false)
			r.fault(4, 1, restoreKind, "etcd", true)
			r.lease(5, "replica-b", "b", 200)
			r.slice(5.5, "replica-a")
		}, ""},
		{"killed", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(2, 1, killKind, "replica-a", false)
			r.slice(3, "replica-a")
		}, "was killed"},
		{"acquired after it was killed", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(2, 1, killKind, "replica-a", false)
			r.lease(7, "replica-a", "a2", 200)
			r.slice(8, "replica-a")
		}, ""},
		{"held back by a link", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(3, 1, "half-open", "replica-a→kube-apiserver", false)
			r.lease(8, "replica-b", "b", 200)
			r.slice(10, "replica-a")
			r.fault(11, 1, "half-open", "replica-a→kube-apiserver", true)
		}, ""},
		{"held back by a link that has ended long ago", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(3, 1, "half-open", "replica-a→kube-apiserver", false)
			r.fault(5, 1, "half-open", "replica-a→kube-apiserver", true)
			r.slice(10, "replica-a")
		}, "6s before"},
		{"held back by a storm", func(r *leaseRun) {
			r.leaseOf(dnsLease, 1, "replica-a", "a", 200)
			r.fault(2, 1, "delay", "replica-a→bind", false)
			r.fault(3, 2, "provider-storm", "all→bind", false)
			r.fault(4, 1, "delay", "replica-a→bind", true)
			r.update(10, "replica-a")
		}, ""},
		{"held back where it has arrived already", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(3, 1, "half-open", "replica-a→kube-apiserver, behind", false)
			r.slice(10, "replica-a")
		}, "9s before"},
		{"held back by another link", func(r *leaseRun) {
			r.leaseOf(dnsLease, 1, "replica-a", "a", 200)
			r.fault(3, 1, "half-open", "replica-a→kube-apiserver", false)
			r.update(10, "replica-a")
		}, "9s before"},
		{"paused", func(r *leaseRun) {
			r.lease(1, "replica-a", "a", 200)
			r.fault(2, 1, "pause", "replica-a", false)
			r.fault(12, 1, "pause", "replica-a", true)
			r.slice(12.001, "replica-a")
		}, "11.001s before"},
		{"two with one name", func(r *leaseRun) {
			r.lease(1, "replica-a", "same", 200)
			r.lease(9, "replica-b", "same", 200)
		}, "which is the name of replica-a"},
		{"an update by whoever leads", func(r *leaseRun) { r.leaseOf(dnsLease, 1, "replica-a", "a", 200); r.update(2, "replica-a") }, ""},
		{"an update by the other one", func(r *leaseRun) { r.leaseOf(dnsLease, 1, "replica-a", "a", 200); r.update(2, "replica-b") }, "replica-b never acquired signpost-dns"},
		{"the person needs no Lease", func(r *leaseRun) { r.update(2, history.Person) }, ""},
		{"nor does an Event", func(r *leaseRun) { r.resource(1, "replica-a", "events", "") }, ""},
		{"a status does", func(r *leaseRun) { r.resource(1, "replica-a", "dnsendpoints", "status") }, "never acquired signpost-dns"},
		{"nobody writes pods", func(r *leaseRun) { r.resource(1, "replica-a", "pods", "") }, "no role writes that"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r leaseRun
			tt.play(&r)
			wantFinding(t, outsideLease(), r.history(), tt.want)
		})
	}
}

// wantFinding checks that v has one finding whose message contains want, or none if want is empty.
func wantFinding(t *testing.T, v Validator, h history.History, want string) {
	t.Helper()
	findings := v.Check(h)
	switch {
	case want == "" && len(findings) > 0:
		t.Errorf("objects to what is right: %v", findings)
	case want != "" && len(findings) != 1:
		t.Errorf("%d findings, want one that says %q: %v", len(findings), want, findings)
	case want != "" && (!strings.Contains(findings[0].String(), want) || findings[0].Validator != v.Name):
		t.Errorf("says %q, want %q by %s", findings[0], want, v.Name)
	}
}

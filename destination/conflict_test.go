package destination

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/report"
)

// An address conflict is a problem until one of the objects is gone or has another address, even if streams
// are refused because of it. A new version of the object does not end the conflict.
func TestConflictsEnd(t *testing.T) {
	web, db := profileService("web", withClusterIPs("10.96.0.1")), profileService("db", withClusterIPs("10.96.0.1"))
	terminating := func(w *catalog.Workload) { w.Terminating = true }
	finished := func(w *catalog.Workload) { w.Finished = true }
	for name, tc := range map[string]struct {
		objects []catalog.Object
		loser   objectmeta.Problem
		end     func(*profileServer)
	}{
		"the other Service is gone":    {[]catalog.Object{web, db}, objectmeta.Problem{Kind: "Service", Name: "web"}, func(s *profileServer) { s.remove(db) }},
		"the Service has another IP":   {[]catalog.Object{web, db}, objectmeta.Problem{Kind: "Service", Name: "web"}, func(s *profileServer) { s.put(profileService("web", withClusterIPs("10.96.0.2"))) }},
		"the pod is gone":              {podsAt("10.96.0.1"), objectmeta.Problem{Kind: "Pod", Name: "b"}, func(s *profileServer) { s.remove(profilePod("b", "10.96.0.1")) }},
		"the pod is deleted":           {podsAt("10.96.0.1"), objectmeta.Problem{Kind: "Pod", Name: "b"}, func(s *profileServer) { s.put(profilePod("b", "10.96.0.1", terminating)) }},
		"the other pod has finished":   {podsAt("10.96.0.1"), objectmeta.Problem{Kind: "Pod", Name: "b"}, func(s *profileServer) { s.put(profilePod("a", "10.96.0.1", finished)) }},
		"the other pod has another IP": {podsAt("10.96.0.1"), objectmeta.Problem{Kind: "Pod", Name: "b"}, func(s *profileServer) { s.put(profilePod("a", "10.96.0.2")) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				problems, err := report.New(report.Config{Registerer: prometheus.NewRegistry()})
				if err != nil {
					t.Fatal(err)
				}
				s := &profileServer{fixture: start(t, Config{ClusterDomain: "cluster.local", Report: problems.Report, Fixed: problems.Fixed}, tc.objects...)}
				s.client = pb.NewDestinationClient(s.conn)
				tc.loser.Namespace = "ns"
				other := tc.loser
				other.Field, other.Reason = "spec.ports", "invalid"
				problems.Report(other)
				if c := s.open("10.96.0.1:80", ""); c.err == nil {
					t.Error("the stream is not refused")
				}
				s.settle()
				problems.Fixed(tc.loser, time.Now())
				if diff := cmp.Diff([]string{tc.loser.Kind + " address 10.96.0.1"}, fieldsOf(problems)); diff != "" {
					t.Errorf("during the conflict (-want +got):\n%s", diff)
				}
				problems.Report(other)
				tc.end(s)
				if diff := cmp.Diff([]string{tc.loser.Kind + " spec.ports"}, fieldsOf(problems)); diff != "" {
					t.Errorf("after the conflict (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func podsAt(ip string) []catalog.Object {
	return []catalog.Object{profilePod("a", ip), profilePod("b", ip)}
}

// fieldsOf returns the kinds and fields of the listed problems.
func fieldsOf(r *report.Reporter) []string {
	var fields []string
	for _, p := range r.Problems() {
		fields = append(fields, p.Kind+" "+p.Field)
	}
	return fields
}

package destination

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The API server stores objects with text that isn't UTF-8, if they are sent as protobuf. No message can have
// such text. One such pod ended the process at the first query for it (M1).
const notUTF8 = "evil\xff"

func ownedByEvil(w *catalog.Workload) { w.Owner = catalog.OwnerRef{Kind: "Thing", Name: notUTF8} }

// An endpoint that can't be encoded is left out and reported, whatever the invalid text is. The other
// endpoints are served (M1).
func TestUnencodableEndpoints(t *testing.T) {
	const other = "the endpoint of another slice"
	for name, tc := range map[string]struct {
		objects []catalog.Object
		problem objectmeta.Problem // Reason is what the reason contains
	}{
		"owner of a pod": {
			put(pod("bad", ownedByEvil), slice("s", at("10.0.0.1", podKey("bad")))),
			objectmeta.Problem{Kind: "Pod", Namespace: "ns", Name: "bad", Field: "address 10.0.0.1", Reason: "UTF-8"},
		},
		"identity of an ExternalWorkload": {
			put(external("bad", func(w *catalog.Workload) {
				w.MeshTLS.Identity = catalog.Identity{Name: notUTF8, Form: catalog.URIIdentity}
			}), slice("s", at("10.0.0.1", externalKey("bad")))),
			objectmeta.Problem{Kind: "ExternalWorkload", Namespace: "ns", Name: "bad", Field: "address 10.0.0.1", Reason: "UTF-8"},
		},
		"identity of a gateway": {
			put(gateway(notUTF8, "web.ns.svc.west", slice("s", at("10.0.0.1", catalog.WorkloadKey{})))),
			objectmeta.Problem{Kind: "Service", Namespace: "ns", Name: "web", Field: "address 10.0.0.1", Reason: "UTF-8"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var problems []objectmeta.Problem
				config := testConfig()
				config.Report = func(p objectmeta.Problem) { problems = append(problems, p) }
				f := start(t, config, append(tc.objects, service("web"), pod("good"), slice("t", at("10.0.0.2", podKey("good"))))...)
				c := f.get(getPath, "")
				f.settle()
				if diff := cmp.Diff([]string{"add 10.0.0.2:8080"}, transcript(c.newMessages())); diff != "" {
					t.Errorf("%s (-want +got):\n%s", other, diff)
				}
				expectProblem(t, tc.problem, problems)
				f.change(put(slice("t", at("10.0.0.3", podKey("good")))))
				if diff := cmp.Diff([]string{"add 10.0.0.3:8080", "remove 10.0.0.2:8080"}, transcript(c.newMessages())); diff != "" {
					t.Errorf("after a change of %s (-want +got):\n%s", other, diff)
				}
				f.change(put(pod("bad"), external("bad"), slice("s", at("10.0.0.1", podKey("bad")))))
				if diff := cmp.Diff([]string{"add 10.0.0.1:8080"}, transcript(c.newMessages())); diff != "" {
					t.Errorf("after the fix (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// expectProblem checks that there are problems, and that all equal this one.
func expectProblem(t *testing.T, want objectmeta.Problem, got []objectmeta.Problem) {
	t.Helper()
	if len(got) == 0 {
		t.Error("nothing was reported")
	}
	for _, p := range got {
		if !strings.Contains(p.Reason, want.Reason) {
			t.Errorf("the reason is %q, want something about %s", p.Reason, want.Reason)
		}
		p.Reason = want.Reason
		if p != want {
			t.Errorf("reported %+v, want %+v", p, want)
		}
	}
}

// If the labels of a Service can't be encoded, its endpoints are left out (M1).
func TestUnencodableLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var problems []objectmeta.Problem
		config := testConfig()
		config.Report = func(p objectmeta.Problem) { problems = append(problems, p) }
		mirrored := slice("s", at("10.0.0.1", podKey("a")))
		mirrored.Mirror.Cluster = notUTF8
		f := start(t, config, service("web"), pod("a"), mirrored)
		c := f.get(getPath, "")
		f.settle()
		if diff := cmp.Diff([]string{"no_endpoints exists=true"}, transcript(c.newMessages())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		expectProblem(t, objectmeta.Problem{Kind: "Service", Namespace: "ns", Name: "web", Field: "labels of endpoints", Reason: "UTF-8"}, problems)
		f.change(put(slice("s", at("10.0.0.1", podKey("a")))))
		if diff := cmp.Diff([]string{"add 10.0.0.1:8080"}, transcript(c.newMessages())); diff != "" {
			t.Errorf("after the fix (-want +got):\n%s", diff)
		}
	})
}

// Instead of a profile that can't be encoded, the bare address or the default profile of the Service is sent
// (M1).
func TestUnencodableProfiles(t *testing.T) {
	for name, tc := range map[string]struct {
		path    string
		objects []catalog.Object
		broken  objectmeta.Problem
		want    *pb.DestinationProfile
	}{
		"address of a pod": {
			"10.0.0.1:80",
			[]catalog.Object{profilePod("bad", "10.0.0.1", ownedByEvil)},
			objectmeta.Problem{Kind: "Pod", Namespace: "ns", Name: "bad", Field: "address 10.0.0.1", Reason: "UTF-8"},
			wantAddress("10.0.0.1:80"),
		},
		"route of a ServiceProfile": {
			webPath,
			[]catalog.Object{profileService("web"), profileOn("ns", notUTF8)},
			objectmeta.Problem{Kind: "ServiceProfile", Namespace: "ns", Name: "web.ns.svc.cluster.local", Field: "spec", Reason: "UTF-8"},
			wantService("web"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			withProfileServer(t, tc.objects, func(t *testing.T, s *profileServer) {
				c := s.open(tc.path, "")
				defer c.close()
				c.want(t, "the fallback", tc.want)
				expectProblem(t, tc.broken, s.reported())
			})
		})
	}
}

// A Service whose own name can't be encoded has a profile, too (M1).
func TestUnencodableName(t *testing.T) {
	config := testConfig()
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: notUTF8}
	c := settled(t, &catalog.Service{Key: key, Ports: []catalog.ServicePort{{Port: 80, Protocol: catalog.TCP}}})
	q := catalog.ProfileQuery{Cluster: catalog.LocalCluster, Service: key, Port: 80, ClusterDomain: config.ClusterDomain}
	snapshot := c.Profile(q)
	defer snapshot.Release()
	got := decodeProfile(t, &newFrame(encodedProfile(&config, q, snapshot)).bytes)
	if diff := cmp.Diff(&pb.DestinationProfile{}, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

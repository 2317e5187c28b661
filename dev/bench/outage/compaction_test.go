package outage

import (
	"net/http/httptest"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/dev/bench/mesh"
)

// A list counts once, however many pages it has, and a watch only if it begins with what exists.
func TestIsList(t *testing.T) {
	for target, want := range map[string]bool{
		"/api/v1/pods?limit=500":                             true,
		"/api/v1/pods?limit=500&continue=x":                  false,
		"/api/v1/pods?watch=true&resourceVersion=7":          false,
		"/api/v1/pods?watch=true&sendInitialEvents=true":     true,
		"/api/v1/namespaces/a/pods":                          true,
		"/apis/discovery.k8s.io/v1/endpointslices":           true,
		"/apis/coordination.k8s.io/v1/namespaces/a/leases/b": false,
		"/api/v1/pods?limit=1":                               false,
		"/apis":                                              false,
	} {
		if got := isList(httptest.NewRequest("GET", target, nil)); got != want {
			t.Errorf("%s: %t", target, got)
		}
	}
	if isList(httptest.NewRequest("POST", "/api/v1/pods", nil)) {
		t.Error("a write counts as a list")
	}
}

// A kind that is listed twice or not at all is named.
func TestNotOnce(t *testing.T) {
	c := compaction{listed: map[string]int{"a": 1, "b": 2, "c": 1}, again: map[string]int{"a": 1, "c": 2, "d": 1}}
	if got := c.notOnce(); len(got) != 2 || got[0] != "b: 0" || got[1] != "c: 2" {
		t.Errorf("got %q", got)
	}
}

// Being told that there are no endpoints removes all that a stream knows.
func TestNoEndpointsRemove(t *testing.T) {
	s := &mesh.Stream{Have: map[uint32]struct{}{6: {}, 7: {}}}
	now := time.Now()
	s.Remove(&pb.Update{Update: &pb.Update_NoEndpoints{NoEndpoints: &pb.NoEndpoints{Exists: true}}}, now)
	if s.Removals != 2 || len(s.Have) != 0 || !s.Removed.Equal(now) {
		t.Errorf("%d removals, %v left", s.Removals, s.Have)
	}
}

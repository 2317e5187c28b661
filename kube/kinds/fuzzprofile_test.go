package kinds

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/catalog"
)

// FuzzServiceProfileTrim feeds any JSON to the types of ServiceProfiles and what is
// decoded to the trim function: nothing may be lost or made up on the way, and no
// condition may be deeper than the types promise.
func FuzzServiceProfileTrim(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"x","namespace":"ns"},"spec":{"routes":[{"name":"r","condition":{"method":"GET","pathRegex":"/"},"timeout":"1s","isRetryable":true}]}}`,
		`{"spec":{"routes":[{"condition":{"all":[null,{"not":{"any":[{}]}}]},"responseClasses":[{"condition":{"status":{"min":200}},"isFailure":true},{}]}]}}`,
		`{"spec":{"routes":[{"condition":{"not":[{"method":"GET"},null]}},{"condition":{"not":[]}},null]}}`,
		`{"spec":{"retryBudget":{"retryRatio":0.2,"minRetriesPerSecond":-10,"ttl":"10s"},"opaquePorts":{"1":{}}}}`,
		`{"spec":{"dstOverrides":[{"authority":"a","weight":"500m"},{"weight":1},{}]}}`,
		`{"spec":"nonsense"}`, `{"spec":{"routes":7}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var from linkerd.ServiceProfile
		got := fuzzTrim(t, data, trimServiceProfile, &from)
		if got == nil {
			return
		}
		if from.Spec.Problem != "" {
			t.Errorf("kept although %s", from.Spec.Problem)
		}
		checkProfile(t, &from, got)
	})
}

// checkProfile compares what was decoded with what was kept.
func checkProfile(t *testing.T, from *linkerd.ServiceProfile, got *catalog.ServiceProfile) {
	t.Helper()
	if got.Name != from.Name || got.Namespace != from.Namespace {
		t.Errorf("%s/%s became %s/%s", from.Namespace, from.Name, got.Namespace, got.Name)
	}
	if len(got.Routes) != len(from.Spec.Routes) || len(got.DstOverrides) != len(from.Spec.DstOverrides) {
		t.Fatalf("%d routes and %d overrides became %d and %d", len(from.Spec.Routes), len(from.Spec.DstOverrides), len(got.Routes), len(got.DstOverrides))
	}
	if b := from.Spec.RetryBudget; (b == nil) != (got.RetryBudget == nil) ||
		b != nil && *got.RetryBudget != (catalog.RetryBudget{Ratio: b.RetryRatio, MinRetriesPerSecond: b.MinRetriesPerSecond, TTL: b.TTL}) {
		t.Errorf("retry budget %+v became %+v", b, got.RetryBudget)
	}
	for i, r := range from.Spec.Routes {
		want := catalog.Route{Name: r.Name, Retryable: r.IsRetryable, Timeout: r.Timeout}
		g := got.Routes[i]
		if len(g.ResponseClasses) != len(r.ResponseClasses) {
			t.Fatalf("route %d: %d response classes became %d", i, len(r.ResponseClasses), len(g.ResponseClasses))
		}
		checkRequests(t, []*linkerd.RequestMatch{r.Condition}, []*catalog.RequestMatch{g.Condition}, 0)
		for j, class := range r.ResponseClasses {
			if class.IsFailure != g.ResponseClasses[j].Failure {
				t.Errorf("route %d: response class %d is a failure: %v", i, j, g.ResponseClasses[j].Failure)
			}
			checkResponses(t, []*linkerd.ResponseMatch{class.Condition}, []*catalog.ResponseMatch{g.ResponseClasses[j].Condition}, 0)
		}
		g.Condition, g.ResponseClasses = nil, nil
		if diff := cmp.Diff(want, g); diff != "" {
			t.Errorf("route %d (-want +got):\n%s", i, diff)
		}
	}
}

func checkRequests(t *testing.T, from []*linkerd.RequestMatch, got []*catalog.RequestMatch, depth int) {
	t.Helper()
	if len(from) != len(got) {
		t.Fatalf("%d conditions became %d", len(from), len(got))
	}
	for i, m := range from {
		g := got[i]
		if (m == nil) != (g == nil) {
			t.Fatalf("condition %v became %v", m, g)
		}
		if m == nil {
			continue
		}
		if depth >= linkerd.MaxMatchDepth {
			t.Fatalf("a condition %d deep was kept", depth+1)
		}
		if m.Method != g.Method || m.PathRegex != g.PathRegex {
			t.Errorf("condition %+v became %+v", m, g)
		}
		checkRequests(t, m.All, g.All, depth+1)
		checkRequests(t, m.Any, g.Any, depth+1)
		checkRequests(t, []*linkerd.RequestMatch{m.Not}, []*catalog.RequestMatch{g.Not}, depth+1)
	}
}

func checkResponses(t *testing.T, from []*linkerd.ResponseMatch, got []*catalog.ResponseMatch, depth int) {
	t.Helper()
	if len(from) != len(got) {
		t.Fatalf("%d conditions became %d", len(from), len(got))
	}
	for i, m := range from {
		g := got[i]
		if (m == nil) != (g == nil) {
			t.Fatalf("condition %v became %v", m, g)
		}
		if m == nil {
			continue
		}
		if depth >= linkerd.MaxMatchDepth {
			t.Fatalf("a condition %d deep was kept", depth+1)
		}
		if (m.Status == nil) != (g.Status == nil) || m.Status != nil && *g.Status != (catalog.StatusRange{Min: m.Status.Min, Max: m.Status.Max}) {
			t.Errorf("status %v became %v", m.Status, g.Status)
		}
		checkResponses(t, m.All, g.All, depth+1)
		checkResponses(t, m.Any, g.Any, depth+1)
		checkResponses(t, []*linkerd.ResponseMatch{m.Not}, []*catalog.ResponseMatch{g.Not}, depth+1)
	}
}

package kinds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/catalog"
)

// FuzzServiceProfileTrim decodes any JSON as a ServiceProfile and trims it: nothing may be lost or added, and
// no condition may be deeper than the types allow.
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

// durationOf returns the ttl of a retry budget, or false if it is no duration.
func durationOf(b *linkerd.RetryBudget) (time.Duration, bool) {
	if b == nil {
		return 0, true
	}
	ttl, err := time.ParseDuration(b.TTL)
	return ttl, err == nil
}

// checkProfile compares the decoded profile with the trimmed one.
func checkProfile(t *testing.T, from *linkerd.ServiceProfile, got *catalog.ServiceProfile) {
	t.Helper()
	if got.Name != from.Name || got.Namespace != from.Namespace {
		t.Errorf("%s/%s became %s/%s", from.Namespace, from.Name, got.Namespace, got.Name)
	}
	if ttl, ok := durationOf(from.Spec.RetryBudget); !ok {
		if !got.Invalid || len(got.Routes) != 0 {
			t.Errorf("retry budget %+v became %+v", from.Spec.RetryBudget, got)
		}
		return
	} else if got.RetryBudget != nil && got.RetryBudget.TTL != ttl {
		t.Errorf("ttl %s became %s", ttl, got.RetryBudget.TTL)
	}
	if len(got.Routes) != len(from.Spec.Routes) || len(got.DstOverrides) != len(from.Spec.DstOverrides) {
		t.Fatalf("%d routes and %d overrides became %d and %d", len(from.Spec.Routes), len(from.Spec.DstOverrides), len(got.Routes), len(got.DstOverrides))
	}
	if b := from.Spec.RetryBudget; (b == nil) != (got.RetryBudget == nil) ||
		b != nil && (got.RetryBudget.Ratio != b.RetryRatio || got.RetryBudget.MinRetriesPerSecond != b.MinRetriesPerSecond) {
		t.Errorf("retry budget %+v became %+v", b, got.RetryBudget)
	}
	for i, r := range from.Spec.Routes {
		timeout, _ := time.ParseDuration(r.Timeout)
		want := catalog.Route{Name: r.Name, Retryable: r.IsRetryable, Timeout: timeout}
		g := got.Routes[i]
		if len(g.ResponseClasses) != len(r.ResponseClasses) {
			t.Fatalf("route %d: %d response classes became %d", i, len(r.ResponseClasses), len(g.ResponseClasses))
		}
		requestMatches.check(t, []*linkerd.RequestMatch{r.Condition}, []*catalog.RequestMatch{g.Condition}, 0)
		for j, class := range r.ResponseClasses {
			if class.IsFailure != g.ResponseClasses[j].Failure {
				t.Errorf("route %d: response class %d is a failure: %v", i, j, g.ResponseClasses[j].Failure)
			}
			responseMatches.check(t, []*linkerd.ResponseMatch{class.Condition}, []*catalog.ResponseMatch{g.ResponseClasses[j].Condition}, 0)
		}
		g.Condition, g.ResponseClasses = nil, nil
		if diff := cmp.Diff(want, g); diff != "" {
			t.Errorf("route %d (-want +got):\n%s", i, diff)
		}
	}
}

// matches compares decoded conditions of type A with trimmed ones of type B.
type matches[A, B any] struct {
	// same reports whether the fields of two conditions are equal.
	same func(*A, *B) bool
	// below calls compare for the conditions inside of a condition.
	below func(a *A, b *B, compare func([]*A, []*B))
}

var requestMatches = matches[linkerd.RequestMatch, catalog.RequestMatch]{
	same: func(m *linkerd.RequestMatch, g *catalog.RequestMatch) bool {
		return m.Method == g.Method && m.PathRegex == g.PathRegex
	},
	below: func(m *linkerd.RequestMatch, g *catalog.RequestMatch, compare func([]*linkerd.RequestMatch, []*catalog.RequestMatch)) {
		compare(m.All, g.All)
		compare(m.Any, g.Any)
		compare([]*linkerd.RequestMatch{m.Not}, []*catalog.RequestMatch{g.Not})
	},
}

var responseMatches = matches[linkerd.ResponseMatch, catalog.ResponseMatch]{
	same: func(m *linkerd.ResponseMatch, g *catalog.ResponseMatch) bool {
		return (m.Status == nil) == (g.Status == nil) && (m.Status == nil || *g.Status == catalog.StatusRange{Min: m.Status.Min, Max: m.Status.Max})
	},
	below: func(m *linkerd.ResponseMatch, g *catalog.ResponseMatch, compare func([]*linkerd.ResponseMatch, []*catalog.ResponseMatch)) {
		compare(m.All, g.All)
		compare(m.Any, g.Any)
		compare([]*linkerd.ResponseMatch{m.Not}, []*catalog.ResponseMatch{g.Not})
	},
}

func (k matches[A, B]) check(t *testing.T, from []*A, got []*B, depth int) {
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
		if !k.same(m, g) {
			t.Errorf("condition %+v became %+v", m, g)
		}
		k.below(m, g, func(from []*A, got []*B) { k.check(t, from, got, depth+1) })
	}
}

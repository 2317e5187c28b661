package kinds

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/catalog"
)

// profileNamed returns a trimmed empty ServiceProfile after a change.
func profileNamed(change func(*catalog.ServiceProfile)) *catalog.ServiceProfile {
	p := &catalog.ServiceProfile{Cluster: "east", Namespace: "ns", Name: "x"}
	change(p)
	return p
}

func TestTrimServiceProfile(t *testing.T) {
	runTrim(t, trimServiceProfile, []trimCase[catalog.ServiceProfile]{
		{name: "bare", yaml: `{metadata: {name: x, namespace: ns}}`, want: profileNamed(func(*catalog.ServiceProfile) {})},
		{name: "empty", yaml: `{metadata: {name: x, namespace: ns}, spec: {}}`, want: profileNamed(func(*catalog.ServiceProfile) {})},
		{
			name: "all fields", yaml: `
metadata: {name: x, namespace: ns}
spec:
  retryBudget: {retryRatio: 0.25, minRetriesPerSecond: 5, ttl: 15s}
  routes:
  - name: GET /cart
    isRetryable: true
    timeout: 300ms
    condition: {method: GET, pathRegex: /cart, all: [{method: PUT}], any: [{pathRegex: /a}, {pathRegex: /b}], not: {method: POST}}
    responseClasses:
    - isFailure: true
      condition: {all: [{status: {min: 500, max: 599}}], any: [{status: {max: 499}}], not: {status: {min: 503}}}
    - condition: {status: {}}
  dstOverrides:
  - {authority: a.test:80, weight: 500m}
  - {authority: b.test, weight: "1"}
  - {weight: 2}
`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.RetryBudget = &catalog.RetryBudget{Ratio: 0.25, MinRetriesPerSecond: 5, TTL: 15 * time.Second}
				p.Routes = []catalog.Route{{
					Name: "GET /cart", Retryable: true, Timeout: 300 * time.Millisecond,
					Condition: &catalog.RequestMatch{
						Method: "GET", PathRegex: "/cart",
						All: []*catalog.RequestMatch{{Method: "PUT"}},
						Any: []*catalog.RequestMatch{{PathRegex: "/a"}, {PathRegex: "/b"}},
						Not: &catalog.RequestMatch{Method: "POST"},
					},
					ResponseClasses: []catalog.ResponseClass{
						{Failure: true, Condition: &catalog.ResponseMatch{
							All: []*catalog.ResponseMatch{{Status: &catalog.StatusRange{Min: 500, Max: 599}}},
							Any: []*catalog.ResponseMatch{{Status: &catalog.StatusRange{Max: 499}}},
							Not: &catalog.ResponseMatch{Status: &catalog.StatusRange{Min: 503}},
						}},
						{Condition: &catalog.ResponseMatch{Status: &catalog.StatusRange{}}},
					},
				}}
				p.DstOverrides = []catalog.WeightedDst{
					{Authority: "a.test:80", MilliWeight: 500}, {Authority: "b.test", MilliWeight: 1000}, {MilliWeight: 2000},
				}
			}),
		},
	})
}

func TestTrimServiceProfileOfOtherShapes(t *testing.T) {
	runTrim(t, trimServiceProfile, []trimCase[catalog.ServiceProfile]{
		{
			// A missing part stays missing, and later makes the profile invalid.
			name: "nothing where something must be", yaml: `
metadata: {name: x, namespace: ns}
spec:
  routes:
  - name: none
    responseClasses: [{isFailure: true}]
  - name: null children
    condition: {all: [null, {method: GET}]}
    responseClasses: [{condition: {any: [null]}}]
`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.Routes = []catalog.Route{
					{Name: "none", ResponseClasses: []catalog.ResponseClass{{Failure: true}}},
					{
						Name:            "null children",
						Condition:       &catalog.RequestMatch{All: []*catalog.RequestMatch{nil, {Method: "GET"}}},
						ResponseClasses: []catalog.ResponseClass{{Condition: &catalog.ResponseMatch{Any: []*catalog.ResponseMatch{nil}}}},
					},
				}
			}),
		},
		{
			name: "not as a list", yaml: `
metadata: {name: x, namespace: ns}
spec:
  routes:
  - {name: one, condition: {not: [{method: POST}]}}
  - {name: two, condition: {not: [{method: POST}, {method: PUT}]}}
  - {name: "null", condition: {not: [null]}}
`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.Routes = []catalog.Route{
					{Name: "one", Condition: &catalog.RequestMatch{Not: &catalog.RequestMatch{Method: "POST"}}},
					{Name: "two", Condition: &catalog.RequestMatch{
						Not: &catalog.RequestMatch{Any: []*catalog.RequestMatch{{Method: "POST"}, {Method: "PUT"}}},
					}},
					{Name: "null", Condition: &catalog.RequestMatch{
						Not: &catalog.RequestMatch{Any: []*catalog.RequestMatch{nil}},
					}},
				}
			}),
		},
		{name: "opaquePorts as a list", yaml: `{metadata: {name: x, namespace: ns}, spec: {opaquePorts: ["25", "3306"]}}`, want: profileNamed(func(*catalog.ServiceProfile) {})},
		{name: "opaquePorts as a map", yaml: `{metadata: {name: x, namespace: ns}, spec: {opaquePorts: {25: {}}}}`, want: profileNamed(func(*catalog.ServiceProfile) {})},
		{name: "routes of another shape", yaml: `{metadata: {name: x, namespace: ns}, spec: {routes: 7}}`, problems: []string{"spec"}},
		{name: "weight that is none", yaml: `{metadata: {name: x, namespace: ns}, spec: {dstOverrides: [{weight: half}]}}`, problems: []string{"spec"}},
		{
			// One invalid part makes the whole profile unusable, but an invalid timeout doesn't.
			name: "a ttl that is no duration", yaml: `{metadata: {name: x, namespace: ns}, spec: {retryBudget: {ttl: ten}, routes: [{name: r, condition: {method: GET}}]}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) { p.Invalid = true }), problems: []string{"spec.retryBudget.ttl"},
		},
		{
			name: "a budget that proxies can't use", yaml: `{metadata: {name: x, namespace: ns}, spec: {retryBudget: {retryRatio: -0.5, minRetriesPerSecond: -1, ttl: 999ms}}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.RetryBudget = &catalog.RetryBudget{Ratio: -0.5, MinRetriesPerSecond: -1, TTL: 999 * time.Millisecond}
			}),
			problems: []string{"spec.retryBudget.retryRatio", "spec.retryBudget.minRetriesPerSecond", "spec.retryBudget.ttl"},
		},
		{
			name: "a budget above the limits", yaml: `{metadata: {name: x, namespace: ns}, spec: {retryBudget: {retryRatio: 1000.5, ttl: 61s}}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.RetryBudget = &catalog.RetryBudget{Ratio: 1000.5, TTL: 61 * time.Second}
			}),
			problems: []string{"spec.retryBudget.retryRatio", "spec.retryBudget.ttl"},
		},
		{
			name: "the greatest budget", yaml: `{metadata: {name: x, namespace: ns}, spec: {retryBudget: {retryRatio: 1000, ttl: 60s}}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) { p.RetryBudget = &catalog.RetryBudget{Ratio: 1000, TTL: time.Minute} }),
		},
		{
			name: "no retries by ratio", yaml: `{metadata: {name: x, namespace: ns}, spec: {retryBudget: {retryRatio: 0, ttl: 1s}}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) { p.RetryBudget = &catalog.RetryBudget{TTL: time.Second} }),
		},
		{
			name: "a negative weight", yaml: `{metadata: {name: x, namespace: ns}, spec: {dstOverrides: [{authority: a.test, weight: 0}, {authority: b.test, weight: "-1"}]}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.DstOverrides = []catalog.WeightedDst{{Authority: "a.test"}, {Authority: "b.test", MilliWeight: -1000}}
			}),
			problems: []string{"spec.dstOverrides[1].weight"},
		},
		{
			name: "no ttl", yaml: `{metadata: {name: x, namespace: ns}, spec: {retryBudget: {retryRatio: 1}}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) { p.Invalid = true }), problems: []string{"spec.retryBudget.ttl"},
		},
		{
			name: "a timeout that is no duration", yaml: `{metadata: {name: x, namespace: ns}, spec: {routes: [{name: r, condition: {method: GET}, timeout: soon}, {name: s, timeout: 0s}]}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.Routes = []catalog.Route{{Name: "r", Condition: &catalog.RequestMatch{Method: "GET"}}, {Name: "s"}}
			}),
			problems: []string{"spec.routes[0].timeout"},
		},
		{
			// Proxies ignore such a route, so the problem must be reported (first-hour H2).
			name: "a regular expression that is none", yaml: `{metadata: {name: x, namespace: ns}, spec: {routes: [{name: r, condition: {pathRegex: "/a/[^/]*"}}, {name: s, condition: {not: {all: [{pathRegex: "/(unclosed"}]}}}]}}`,
			want: profileNamed(func(p *catalog.ServiceProfile) {
				p.Routes = []catalog.Route{
					{Name: "r", Condition: &catalog.RequestMatch{PathRegex: "/a/[^/]*"}},
					{Name: "s", Condition: &catalog.RequestMatch{Not: &catalog.RequestMatch{All: []*catalog.RequestMatch{{PathRegex: "/(unclosed"}}}}},
				}
			}),
			problems: []string{"spec.routes[1].condition.pathRegex"},
		},
	})
}

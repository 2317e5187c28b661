package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var (
	later     = time.Date(2026, 1, 2, 3, 4, 5, 60_000_000, time.FixedZone("", 3600))
	laterText = "2026-01-02T02:04:05.06Z"
	olderText = "2025-01-01T00:00:00Z"
	oneMore   = stored(headless, annotated(TriggerTimeAnnotation, olderText))
	onePod    = []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)}
)

var triggerCases = map[string]planCase{
	"EP-61": {
		service: serviceFoo(), pods: manyPods(1), current: stored(headless), trigger: later, action: Update,
		subsets: onePod, annotations: mapOf(TriggerTimeAnnotation, laterText),
	},
	"EP-62": {
		service: serviceFoo(), pods: manyPods(1), current: oneMore, trigger: later, action: Update,
		subsets: onePod, annotations: mapOf(TriggerTimeAnnotation, laterText),
	},
	"EP-63": {service: serviceFoo(), pods: manyPods(1), current: oneMore, action: Update, subsets: onePod},
	"EP-61 create": {
		service: serviceFoo(), pods: manyPods(1), trigger: later, action: Create,
		subsets: onePod, annotations: mapOf(TriggerTimeAnnotation, laterText),
	},
}

func TestPlanTriggerTime(t *testing.T) { runPlans(t, triggerCases) }

// mixed returns ready pods followed by unready ones.
func mixed(ready, unready int) []*corev1.Pod {
	list := manyPods(ready + unready)
	for _, p := range list[ready:] {
		notReady(p)
	}
	return list
}

// capacityCases start from Endpoints with a number of addresses.
var capacityCases = []struct {
	id              string
	before          string // over-capacity annotation
	stored          int
	ready, notReady int
	action          Action
	want            counts
	after           string
}{
	{"EP-64", "", 0, 0, 0, None, counts{}, ""},
	{"EP-65", "", 999, 997, 4, Update, counts{997, 3}, Truncated},
	{"EP-66", "", 999, 1000, 10, Update, counts{1000, 0}, Truncated},
	{"EP-67", Truncated, 999, 999, 0, Update, counts{999, 0}, ""},
	{"EP-68", "warning", 1000, 1000, 0, Update, counts{1000, 0}, ""},
	{"EP-69", "warning", 1001, 1001, 0, Update, counts{1000, 0}, Truncated},
	{"EP-70", Truncated, 1000, 1000, 0, Update, counts{1000, 0}, ""},
	{"EP-71", "invalid", 1001, 1001, 0, Update, counts{1000, 0}, Truncated},
	{"EP-88 full", "", 1000, 1001, 0, Update, counts{1000, 0}, Truncated},
	{"EP-88 500 left", Truncated, 1000, 500, 0, Update, counts{500, 0}, ""},
	{"AD-01", Truncated, 1000, 1001, 0, None, counts{}, ""},
	{"EP-88 a pod left out isn't ready", Truncated, 1000, 1000, 1, None, counts{}, ""},
}

func TestPlanCapacity(t *testing.T) {
	for _, tc := range capacityCases {
		t.Run(tc.id, func(t *testing.T) {
			current := stored(headless)
			if tc.stored > 0 {
				holding(subset(inOrder(manyPods(tc.stored)), nil, tcp8080))(current)
			}
			if tc.before != "" {
				annotated(OverCapacityAnnotation, tc.before)(current)
			}
			got := planned(t, serviceFoo(), inOrder(mixed(tc.ready, tc.notReady)), current, time.Time{})
			if got.Action != tc.action {
				t.Fatalf("action %v, want %v", got.Action, tc.action)
			}
			if got.Action == None {
				return
			}
			var have counts
			have.ready, have.notReady = addressesIn(got)
			if have != tc.want {
				t.Errorf("got %+v, want %+v", have, tc.want)
			}
			if after := got.Endpoints.Annotations[OverCapacityAnnotation]; after != tc.after {
				t.Errorf("annotation %q, want %q", after, tc.after)
			}
		})
	}
}

// inOrder gives pods IPs whose texts sort like the pods.
func inOrder(list []*corev1.Pod) []*corev1.Pod {
	for i, p := range list {
		podIPs("10.0." + digits(i/100) + "." + digits(i%100))(p)
	}
	return list
}

// digits returns a number below 100 as two characters.
func digits(n int) string { return string([]byte{'1', '0' + byte(n/10), '0' + byte(n%10)}) }

func TestPlanDropsEmptySubsets(t *testing.T) { t.Run("AD-02", testDropsEmptySubsets) }

func testDropsEmptySubsets(t *testing.T) {
	list := manyPods(1200, exposing("web", 8080))
	for i := range 50 {
		list = append(list, pod(1200+i, notReady, exposing("web", 9090)))
	}
	service := serviceFoo(withPorts(namedTarget("", "web")))
	got := planned(t, service, list, stored(headless), time.Time{})
	if got.Action != Update || len(got.Endpoints.Subsets) != 1 || len(got.Endpoints.Subsets[0].Addresses) != 1000 {
		t.Errorf("got %v with %d subsets, want an update with the one that keeps addresses", got.Action, len(got.Endpoints.Subsets))
	}
}

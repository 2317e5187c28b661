package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// sizes are the lengths of the lists of addresses.
type sizes struct{ ready, notReady []int }

func sized(s sizes) []corev1.EndpointSubset {
	var list []corev1.EndpointSubset
	for i := range s.ready {
		list = append(list, corev1.EndpointSubset{
			Addresses:         manyAddresses(s.ready[i]).Addresses,
			NotReadyAddresses: manyAddresses(s.notReady[i]).Addresses,
		})
	}
	return list
}

func sizesOf(list []corev1.EndpointSubset) sizes {
	var s sizes
	for _, subset := range list {
		s.ready = append(s.ready, len(subset.Addresses))
		s.notReady = append(s.notReady, len(subset.NotReadyAddresses))
	}
	return s
}

var truncateCases = map[string]struct {
	subsets, want sizes
	truncated     bool
}{
	"EP-72": {},
	"EP-73": {
		subsets: sizes{[]int{50, 100, 100, 100, 100}, []int{50, 100, 100, 100, 100}},
		want:    sizes{[]int{50, 100, 100, 100, 100}, []int{50, 100, 100, 100, 100}},
	},
	"EP-74": {
		subsets: sizes{[]int{100, 100, 100, 100, 100}, []int{100, 100, 100, 100, 100}},
		want:    sizes{[]int{100, 100, 100, 100, 100}, []int{100, 100, 100, 100, 100}},
	},
	"EP-75": {
		subsets:   sizes{[]int{90, 110, 50, 10, 20}, []int{101, 200, 200, 201, 298}},
		want:      sizes{[]int{90, 110, 50, 10, 20}, []int{73, 144, 144, 145, 214}},
		truncated: true,
	},
	"EP-76": {
		subsets:   sizes{[]int{205, 400, 402, 400, 693}, []int{100, 200, 200, 200, 300}},
		want:      sizes{[]int{98, 191, 192, 191, 328}, []int{0, 0, 0, 0, 0}},
		truncated: true,
	},
	"K6 the last subset gets nothing": {
		subsets:   sizes{[]int{999, 0, 0}, []int{0, 5, 5}},
		want:      sizes{[]int{999, 0}, []int{0, 1}},
		truncated: true,
	},
	"AD-02": {
		subsets:   sizes{[]int{0, 1200}, []int{50, 0}},
		want:      sizes{[]int{1000}, []int{0}},
		truncated: true,
	},
	"ready addresses alone fill the capacity": {
		subsets:   sizes{[]int{1000}, []int{1}},
		want:      sizes{[]int{1000}, []int{0}},
		truncated: true,
	},
}

// Truncation of subsets (EP-72 to EP-76).
func TestTruncate(t *testing.T) {
	for name, tc := range truncateCases {
		t.Run(name, func(t *testing.T) {
			list := sized(tc.subsets)
			got, truncated := Truncate(list, 1000)
			if diff := cmp.Diff(tc.want, sizesOf(got), cmp.AllowUnexported(sizes{})); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
			if truncated != tc.truncated {
				t.Errorf("truncated: %v, want %v", truncated, tc.truncated)
			}
			if len(got) > 0 && len(got[0].Addresses) > 0 && len(got) == len(list) {
				if diff := cmp.Diff(list[0].Addresses[:len(got[0].Addresses)], got[0].Addresses); diff != "" {
					t.Errorf("not the first addresses (-want +got):\n%s", diff)
				}
			}
		})
	}
}

package subsets

import (
	"bytes"
	"hash/fnv"
	"slices"

	"k8s.io/utils/dump"
)

// digest determines the position of ports and subsets in the order of §6.3; nothing else may depend on it. It
// is the digest of the Kubernetes controller, so that both write the same subsets in the same order.
type digest [16]byte

func digestOf(v any) digest {
	h := fnv.New128a()
	h.Write([]byte(dump.ForHash(v)))
	return digest(h.Sum(nil))
}

// SortByDigest sorts ports or subsets as the Kubernetes controllers do, with one digest for each element. A
// list of one, which is common, costs nothing.
func SortByDigest[T any](list []T) {
	if len(list) < 2 {
		return
	}
	type keyed struct {
		digest digest
		value  T
	}
	sorted := make([]keyed, len(list))
	for i, v := range list {
		sorted[i] = keyed{digestOf(v), v}
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	for i := range sorted {
		list[i] = sorted[i].value
	}
}

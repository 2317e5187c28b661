package slices

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"hash"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

const (
	// hashLength is the length of the suffix of a generateName. Kubernetes adds five random characters; ours
	// are not random, so more of them keep Services apart.
	hashLength = 10
	// nameLength is the greatest length of a name (RFC 1123, as Kubernetes applies it).
	nameLength = 253
)

// lower is base32 in characters that names may have.
var lower = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// generatedName returns the name of the nth slice with the owner, address type and ports of e. It depends on
// nothing else, so that two leaders who create the same slice choose the same name, and only one of them
// succeeds.
func generatedName(e *discoveryv1.EndpointSlice, n int) string {
	h := sha256.New()
	for _, owner := range e.OwnerReferences {
		write(h, string(owner.UID))
	}
	write(h, string(e.AddressType))
	for _, p := range ports(e) {
		write(h, p)
	}
	write(h, fmt.Sprint(n))
	suffix := lower.EncodeToString(h.Sum(nil))[:hashLength]
	prefix := e.GenerateName
	if over := len(prefix) + hashLength - nameLength; over > 0 {
		prefix = strings.TrimRight(prefix[:len(prefix)-over], "-.")
	}
	return prefix + suffix
}

// write adds a text to a hash with its length, so that consecutive texts are kept apart.
func write(h hash.Hash, text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }

// ports returns the ports of a slice as sorted texts.
func ports(e *discoveryv1.EndpointSlice) []string {
	list := make([]string, len(e.Ports))
	for i, p := range e.Ports {
		list[i] = fmt.Sprint(text(p.Name), "/", text(p.Port), "/", text(p.Protocol), "/", text(p.AppProtocol))
	}
	slices.Sort(list)
	return list
}

func text[T any](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}

// ByName orders slices by their names.
func ByName(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) }

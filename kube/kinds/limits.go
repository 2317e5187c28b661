package kinds

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// Input limits: what is accepted from an object. An API server validates its own objects, but doesn't check
// every string for UTF-8, and a linked cluster may send anything. What exceeds a limit or isn't UTF-8 is left
// out and is a problem of its object. If leaving it out would protect less than the object asks for, the
// whole object is refused, and its last good version stays in use: docs/decisions/0020.

// The longest texts, in bytes.
const (
	// nameLimit is for names of objects, which API servers check as DNS names.
	nameLimit = 253
	// labelLimit is for label values and DNS labels: ports, hostnames, zones.
	labelLimit = 63
	// labelKeyLimit is for label keys: a DNS name, a slash and 63 bytes.
	labelKeyLimit = nameLimit + 1 + labelLimit
	// identityLimit is for spec.meshTLS.identity, as its CRD has it.
	identityLimit = 253
	// The API server has no limits for ServiceProfiles. Paths are rarely longer than 100 bytes, and servers
	// refuse those of more than 8 kB.
	routeNameLimit = 1 << 10
	regexLimit     = 8 << 10
	methodLimit    = 64
	authorityLimit = nameLimit + len(":65535")
	// quoteLimit is how many runes of a text a problem quotes.
	quoteLimit = 64
)

// The largest numbers of items.
const (
	// labelsLimit is per object. Objects in use have fewer than 50.
	labelsLimit = 256
	// portsLimit is for all ports of an object, declared or served. A range of RTP or FTP ports has some
	// hundreds.
	portsLimit = 2048
	// sameNameLimit is for the ports of one name in a slice or subset. The API server accepts one. Each is
	// served with every endpoint.
	sameNameLimit = 4
	// endpointsLimit is per object. The API server accepts 1,000 in a slice, and Kubernetes writes as many
	// into Endpoints; Endpoints written by hand may have more.
	endpointsLimit = 10_000
	// subsetsLimit is for Endpoints, which have one subset for each set of ports.
	subsetsLimit = 1000
	// addressesLimit is per workload or Service. Most have one address of each family.
	addressesLimit = 100
	// slicedLimit is for the addresses, and for the zones in hints, of all endpoints of an object. Most
	// endpoints have one of each.
	slicedLimit = 2 * endpointsLimit
	// itemsLimit is for the ports listed in an annotation, and for what port names in it resolve to. People
	// write tens.
	itemsLimit = 256
	// membersLimit is per federated Service. Each member is watched in every stream of the Service.
	membersLimit = 256
	// requirementsLimit and valuesLimit are per selector.
	requirementsLimit = 64
	valuesLimit       = 1024
	// routesLimit, overridesLimit and conditionsLimit are per ServiceProfile. Profiles generated from an API
	// description have some hundreds of routes.
	routesLimit     = 4096
	overridesLimit  = 256
	conditionsLimit = 16_384
)

// fieldReader applies the limits to the fields of one version of an object, and collects the problems.
type fieldReader struct {
	scope     kube.Scope
	namespace string
	kube.Problems
	// refused is true if nothing of the object may be used.
	refused bool
	// How many more items of the object may be accepted.
	ports, endpoints, addressRoom, hints, conditions int
}

// newFieldReader returns a fieldReader for an object of this name. If the name is invalid, the object is
// refused, because its problem could not be distinguished from those of others.
func newFieldReader(s kube.Scope, namespace, name string) fieldReader {
	d := fieldReader{
		scope: s, namespace: namespace,
		ports: portsLimit, endpoints: endpointsLimit, addressRoom: slicedLimit, hints: slicedLimit, conditions: conditionsLimit,
	}
	if !fits(namespace, nameLimit) || !fits(name, nameLimit) {
		d.refuse(fmt.Sprintf("the name %s or the namespace %s can't be used", quote(name), quote(namespace)), "metadata.name")
	}
	return d
}

// admitted returns the trimmed object, or nil if it was refused, and its problems.
func admitted[T any](d *fieldReader, trimmed *T) (*T, []kube.Problem) {
	if d.refused {
		return nil, d.List()
	}
	return trimmed, d.List()
}

// fits reports whether a text is valid UTF-8 within the limit.
func fits(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

// refuse refuses the object because of a field.
func (d *fieldReader) refuse(reason, path string, indexes ...any) {
	d.refused = true
	d.Add(reason+"; the last good version stays in use, if there was one", path, indexes...)
}

// text returns a text for the catalog, or false if it doesn't fit.
func (d *fieldReader) text(text string, limit int) (string, bool) {
	if !fits(text, limit) {
		return "", false
	}
	return d.scope.Intern(text), true
}

// optional returns the text of an optional field. If it doesn't fit, it returns "" and adds a problem.
func (d *fieldReader) optional(text string, limit int, field string) string {
	kept, ok := d.text(text, limit)
	if !ok {
		d.Add(d.unfit(text, limit)+", so it is not used", "%s", field)
	}
	return kept
}

// required returns the text of a field without which the object would mean something else or be less
// protected. If the text doesn't fit, the object is refused.
func (d *fieldReader) required(text string, limit int, field string) string {
	kept, ok := d.text(text, limit)
	if !ok {
		d.refuse(d.unfit(text, limit), "%s", field)
	}
	return kept
}

// unfit returns why a text doesn't fit, or "" if the problem is only counted.
func (d *fieldReader) unfit(text string, limit int) string {
	switch {
	case d.Full():
		return ""
	case len(text) > limit:
		return fmt.Sprintf("the text %s has %d bytes, and %d are allowed", quote(text), len(text), limit)
	default:
		return fmt.Sprintf("the text %s isn't UTF-8", quote(text))
	}
}

// labels returns the labels of an object. If they don't fit, the object is refused, because a missing label
// could be the one that says that a pod is in the mesh.
func (d *fieldReader) labels(m map[string]string) objectmeta.Labels {
	if len(m) > labelsLimit {
		d.refuse(fmt.Sprintf("there are %d labels, and %d are allowed", len(m), labelsLimit), "metadata.labels")
		return nil
	}
	l, ok := shareLabels(d.scope, m)
	if !ok {
		d.refuse("a label isn't UTF-8, or is longer than labels may be", "metadata.labels")
	}
	return l
}

// limited returns the items of a list that may still be accepted, and reduces room by their number.
func limited[T any](d *fieldReader, list []T, room *int, field string) []T {
	n := min(len(list), *room)
	*room -= n
	if n < len(list) {
		d.Add(fmt.Sprintf("there are more items than can be used; %d of them are left out", len(list)-n), "%s", field)
	}
	return list[:n]
}

// quote quotes the beginning of a text.
func quote(text string) string {
	quoted := fmt.Sprintf("%.*q", quoteLimit, text)
	if len(text) > quoteLimit && utf8.RuneCountInString(text[:min(len(text), 4*quoteLimit+1)]) > quoteLimit {
		quoted += "…"
	}
	return quoted
}

// portNumber returns n as a port, or false if it is out of range.
func portNumber(n int32) (uint16, bool) { return uint16(n), n >= 1 && n <= 65535 }

func (d *fieldReader) invalidPort(n int32) string {
	if d.Full() {
		return ""
	}
	return fmt.Sprintf("%d is no port; use a number from 1 to 65535", n)
}

// address parses an IP address. It returns false for an invalid address, or one with a zone.
func address(text string) (netip.Addr, bool) {
	if len(text) > labelLimit { // the longest has 45 bytes
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(text)
	return a, err == nil && a.Zone() == ""
}

// addresses parses a list of IP addresses. Empty texts are left out. Invalid addresses are left out with a
// problem.
func (d *fieldReader) addresses(list []string, field string) []netip.Addr {
	room := addressesLimit
	list = limited(d, list, &room, field)
	var kept []netip.Addr
	for i, text := range list {
		a, ok := address(text)
		switch {
		case ok:
			if kept == nil {
				kept = make([]netip.Addr, 0, len(list))
			}
			kept = append(kept, a)
		case text != "":
			d.Add(d.invalidAddress(text), "%s[%d]", field, i)
		}
	}
	return kept
}

func (d *fieldReader) invalidAddress(text string) string {
	if d.Full() {
		return ""
	}
	return quote(text) + " is no IP address; use one like 10.0.0.1 or 2001:db8::1"
}

// isDNSName reports whether proxies can parse a text as a DNS name.
func isDNSName(text string) bool {
	if text == "" || len(text) > nameLimit {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > labelLimit || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !isNameByte(label[i]) {
				return false
			}
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// isURI reports whether a text is an absolute URI with an authority, such as spiffe://example.org/vm.
func isURI(text string) bool {
	if len(text) > identityLimit || !strings.Contains(text, "://") || !utf8.ValidString(text) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != ""
}

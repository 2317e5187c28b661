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

// The door: what of an object is let in. An API server checks its own objects, but not each string
// of them for UTF-8, and a linked cluster may send anything. What is over a limit or isn't UTF-8 is
// left out and is a problem of its object. Where that would give less protection than the object
// asks for, the whole object is refused, and its last good version stays in use: docs/decisions/0020.

// The longest texts, in bytes.
const (
	// nameLimit is that of a DNS name, as which API servers check the names of objects.
	nameLimit = 253
	// labelLimit is that of a value of a label and of a DNS label: ports, hostnames, zones.
	labelLimit = 63
	// labelKeyLimit is that of a key of a label: a DNS name, a slash and 63 bytes.
	labelKeyLimit = nameLimit + 1 + labelLimit
	// identityLimit is that of spec.meshTLS.identity in its definition.
	identityLimit = 253
	// The API server sets no limit for what a ServiceProfile says. Paths are rarely longer than
	// 100 bytes, and servers refuse those of more than 8 kB.
	routeNameLimit = 1 << 10
	regexLimit     = 8 << 10
	methodLimit    = 64
	authorityLimit = nameLimit + len(":65535")
	// quoteLimit is how much of a text a problem quotes, in runes.
	quoteLimit = 64
)

// The largest numbers of items.
const (
	// labelsLimit is for one object: those in use have fewer than 50.
	labelsLimit = 256
	// portsLimit is for all of an object, declared or served: a range of RTP or FTP ports has
	// some hundreds.
	portsLimit = 2048
	// sameNameLimit is for the ports of one name in a slice or subset. The API server takes one.
	// Each of them is served with every endpoint.
	sameNameLimit = 4
	// endpointsLimit is for all of an object. The API server takes 1,000 in a slice, and
	// Kubernetes writes as many into Endpoints; by hand there may be more.
	endpointsLimit = 10_000
	// subsetsLimit is for Endpoints, which have one for each set of ports.
	subsetsLimit = 1000
	// addressesLimit is for one workload or Service, which has one of each family.
	addressesLimit = 100
	// slicedLimit is for the addresses, and for the zones in hints, of all endpoints of an object:
	// most endpoints have one.
	slicedLimit = 2 * endpointsLimit
	// itemsLimit is for the list of ports in an annotation, and for what it means with names of
	// ports; people write tens.
	itemsLimit = 256
	// membersLimit is for a federated Service. Each member is watched for in every answer.
	membersLimit = 256
	// requirementsLimit and valuesLimit are for one selector.
	requirementsLimit = 64
	valuesLimit       = 1024
	// routesLimit, overridesLimit and conditionsLimit are for one ServiceProfile. Those that are
	// made of descriptions of an API have some hundreds of routes.
	routesLimit     = 4096
	overridesLimit  = 256
	conditionsLimit = 16_384
)

// fieldReader lets the parts of one version of an object in, and collects the problems of the others.
type fieldReader struct {
	scope     kube.Scope
	namespace string
	kube.Problems
	// refused is true when nothing of the object may be used.
	refused bool
	// What there is room for in the object.
	ports, endpoints, addressRoom, hints, conditions int
}

// newFieldReader returns the door for an object of this name. An object with a bad name is refused: its
// problem could not be told from that of others.
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

// admitted returns what is let in of the object, nil if it is refused, and its problems.
func admitted[T any](d *fieldReader, trimmed *T) (*T, []kube.Problem) {
	if d.refused {
		return nil, d.List()
	}
	return trimmed, d.List()
}

// fits reports whether a text may be let in.
func fits(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

// refuse refuses the object because of a field.
func (d *fieldReader) refuse(reason, path string, indexes ...any) {
	d.refused = true
	d.Add(reason+"; the last good version stays in use, if there was one", path, indexes...)
}

// text returns a text for the catalog, and false for one that doesn't fit.
func (d *fieldReader) text(text string, limit int) (string, bool) {
	if !fits(text, limit) {
		return "", false
	}
	return d.scope.Intern(text), true
}

// optional returns the text of a field that the object can do without: nothing, and a problem, when
// it doesn't fit.
func (d *fieldReader) optional(text string, limit int, field string) string {
	kept, ok := d.text(text, limit)
	if !ok {
		d.Add(d.unfit(text, limit)+", so it is not used", "%s", field)
	}
	return kept
}

// required returns the text of a field without which the object would be another, or would be less
// protected: the object is refused when it doesn't fit.
func (d *fieldReader) required(text string, limit int, field string) string {
	kept, ok := d.text(text, limit)
	if !ok {
		d.refuse(d.unfit(text, limit), "%s", field)
	}
	return kept
}

// unfit says why a text doesn't fit. The text is empty when nobody reads it.
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

// labels returns the labels of an object, which is refused when they don't fit: the missing one
// could be that which says that a pod is in the mesh.
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

// limited returns the items of a list for which there is room, and makes the room smaller.
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

// portNumber returns the port of a number, and false when it is no port.
func portNumber(n int32) (uint16, bool) { return uint16(n), n >= 1 && n <= 65535 }

func (d *fieldReader) notPort(n int32) string {
	if d.Full() {
		return ""
	}
	return fmt.Sprintf("%d is no port; use a number from 1 to 65535", n)
}

// address returns the IP address in a text, and false when there is none.
func address(text string) (netip.Addr, bool) {
	if len(text) > labelLimit { // the longest has 45 bytes
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(text)
	return a, err == nil && a.Zone() == ""
}

// addresses reads a list of IP addresses. It leaves out empty texts, and texts that are no IP
// addresses, for which it adds a problem.
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
			d.Add(d.notAddress(text), "%s[%d]", field, i)
		}
	}
	return kept
}

func (d *fieldReader) notAddress(text string) string {
	if d.Full() {
		return ""
	}
	return quote(text) + " is no IP address; use one like 10.0.0.1 or 2001:db8::1"
}

// isDNSName reports whether proxies can read a text as a DNS name.
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

package tenancy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns"
)

// Rule gives domains to namespaces. Exactly one of Namespace, Selector, All and ClusterScoped is
// set.
type Rule struct {
	Namespace string
	// Selector is a label selector for namespaces.
	Selector string
	// All means every namespace. ClusterScoped means objects without a namespace.
	All, ClusterScoped bool
	Domains            []string

	// parsed is Selector after check, or nil.
	parsed labels.Selector
}

// Forms of [Rule] as text, before the equals sign.
const (
	textAll           = "*"
	textClusterScoped = "-"
)

// ParseRule parses a rule: who, an equals sign, and comma-separated domains. Who is a namespace, a
// label selector in braces, * for every namespace, or - for objects without a namespace.
func ParseRule(text string) (Rule, error) {
	who, domains, found := cutWho(text)
	if !found {
		return Rule{}, fmt.Errorf("%q: give a namespace, an equals sign and domains, such as team-a=a.example.org,b.example.org", text)
	}
	r := Rule{Domains: strings.Split(domains, ",")}
	switch {
	case who == textAll:
		r.All = true
	case who == textClusterScoped:
		r.ClusterScoped = true
	case strings.HasPrefix(who, "{"):
		r.Selector = strings.TrimSuffix(strings.TrimPrefix(who, "{"), "}")
	default:
		r.Namespace = who
	}
	return r, r.check()
}

// cutWho splits the text of a rule, whose selector may have equals signs too.
func cutWho(text string) (who, domains string, found bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return strings.Cut(text, "=")
	}
	end := strings.Index(text, "}=")
	if end < 0 {
		return "", "", false
	}
	return text[:end+1], text[end+2:], true
}

// String returns the text of a rule.
func (r Rule) String() string {
	who := r.Namespace
	switch {
	case r.All:
		who = textAll
	case r.ClusterScoped:
		who = textClusterScoped
	case r.Selector != "":
		who = "{" + r.Selector + "}"
	}
	return who + "=" + strings.Join(r.Domains, ",")
}

// check parses the domains and the selector of a rule. It returns what is wrong with them.
func (r *Rule) check() error {
	switch {
	case r.All, r.ClusterScoped:
	case r.Selector != "":
		var err error
		if r.parsed, err = labels.Parse(r.Selector); err != nil {
			return fmt.Errorf("label selector %q: %w", r.Selector, err)
		}
	case r.Namespace == "":
		return errors.New("names no namespace: give a namespace, a label selector in braces, * for every namespace, or - for objects without one")
	case len(validation.IsDNS1123Label(r.Namespace)) > 0:
		return fmt.Errorf("%q: no namespace has such a name; use lower-case letters, digits and dashes between them, 63 at most", r.Namespace)
	}
	for i, d := range r.Domains {
		if r.Domains[i] = dns.Canonical(d); dns.CheckName(r.Domains[i]) != nil || strings.Contains(r.Domains[i], "*") {
			return fmt.Errorf("domain %q of %s: give a domain such as a.example.org, which stands for itself and all names below it", d, r)
		}
	}
	return nil
}

// applies reports whether a rule is for a namespace. Selectors don't match an unknown namespace.
func (r *Rule) applies(namespace string, set labels.Set, known bool) bool {
	switch {
	case r.ClusterScoped:
		return namespace == ""
	case namespace == "":
		return false
	case r.parsed != nil:
		return known && r.parsed.Matches(set)
	default:
		return r.All || r.Namespace == namespace
	}
}

// Labels returns the labels of a namespace, and whether the namespace is known.
type Labels func(namespace string) (labels.Set, bool)

// Domains says which names each namespace may ask for. A nil Domains allows all.
type Domains struct {
	rules  []Rule
	labels Labels
	// reverse is true if any rule has a domain for PTR records.
	reverse bool
	// isOwnershipName reports whether a name has the form of an ownership record.
	isOwnershipName func(name string) bool
}

// NewDomains returns the domains of rules, or nil if there is no rule. namespaceLabels may be nil
// if no rule has a selector. isOwnershipName reports whether a name has the form of an ownership record;
// nil means that there are none.
func NewDomains(rules []Rule, namespaceLabels Labels, isOwnershipName func(name string) bool) (*Domains, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	if namespaceLabels == nil {
		namespaceLabels = func(string) (labels.Set, bool) { return nil, false }
	}
	if isOwnershipName == nil {
		isOwnershipName = func(string) bool { return false }
	}
	d := &Domains{labels: namespaceLabels, isOwnershipName: isOwnershipName}
	for _, r := range rules {
		r.Domains = slices.Clone(r.Domains)
		if err := r.check(); err != nil {
			return nil, err
		}
		d.reverse = d.reverse || slices.ContainsFunc(r.Domains, dns.IsReverseDomain)
		d.rules = append(d.rules, r)
	}
	return d, nil
}

// Selects reports whether a rule has a label selector, so that namespaces have to be watched.
func Selects(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Selector != "" })
}

// Refuses returns why a namespace may not ask for a record set, or "". name is canonical.
func (d *Domains) Refuses(namespace, name, recordType string) string {
	if d == nil {
		return ""
	}
	domain, own := d.domainOf(namespace, name)
	if domain == "" {
		return fmt.Sprintf("--namespace-domains gives %s no domain of the name: use a name in a domain of the namespace, or have one added", Title(namespace))
	}
	if special := d.special(name, recordType); special != "" && !own {
		return fmt.Sprintf("%s needs a domain that no other namespace has, and --namespace-domains shares %s: use another name, or a domain of its own", special, domain)
	}
	return ""
}

// RefusesPointer returns why a namespace may not have the PTR record of one of its addresses, or "". Nobody
// is refused if no rule has a reverse domain.
func (d *Domains) RefusesPointer(namespace, name string) string {
	if d == nil || !d.reverse {
		return ""
	}
	return d.Refuses(namespace, name, dns.TypePTR)
}

// domainOf returns the longest domain of a namespace that contains a name, and whether no other
// namespace has names there.
func (d *Domains) domainOf(namespace, name string) (domain string, own bool) {
	set, known := d.labels(namespace)
	for i := range d.rules {
		g := &d.rules[i]
		if !g.applies(namespace, set, known) {
			continue
		}
		for _, candidate := range g.Domains {
			if !within(name, candidate) {
				continue
			}
			if len(candidate) > len(domain) {
				domain = candidate
			}
			own = own || d.exclusive(g, candidate)
		}
	}
	return domain, own
}

// exclusive reports whether a rule is for one namespace, and no rule for another one overlaps the
// domain. A rule for several namespaces overlaps itself.
func (d *Domains) exclusive(g *Rule, domain string) bool {
	for i := range d.rules {
		other := &d.rules[i]
		if other.isForOne() && other.Namespace == g.Namespace {
			continue
		}
		if slices.ContainsFunc(other.Domains, func(o string) bool { return within(o, domain) || within(domain, o) }) {
			return false
		}
	}
	return true
}

// isForOne reports whether a rule is for one namespace, or for objects without one.
func (r *Rule) isForOne() bool { return r.ClusterScoped || r.Namespace != "" }

// special describes a record set that decides about other names than its own; "" for any other.
func (d *Domains) special(name, recordType string) string {
	switch {
	case recordType == dns.TypeNS || recordType == dns.TypeDNAME:
		return "a record of the type " + recordType
	case strings.HasPrefix(name, wildcard):
		return "a wildcard"
	case recordType != dns.TypeSRV && IsAttribute(name, recordType):
		// An SRV record names a service of its host, and Services publish both.
		return "a record of the type " + recordType + " under a label that begins with an underscore"
	case (recordType == dns.TypeCNAME || recordType == dns.TypeTXT) && d.isOwnershipName(name):
		// Record sets of other types can't be ownership records.
		return "a name of the form of an ownership record"
	}
	return ""
}

// acmeChallenge is the prefix of the name at which a certificate authority looks for the proof of
// control over the rest of the name (RFC 8555, 8.4).
const acmeChallenge = "_acme-challenge."

// wildcard is the first label of a wildcard name.
const wildcard = "*."

// IsAttribute reports whether a record set says something about another name: it is under a label
// that begins with an underscore (RFC 8552). Certificate authorities accept a CNAME or TXT record under
// any such label as the proof of control over the rest of the name, and mail servers find keys and
// policies there. Hosts may have such names too, so addresses count under _acme-challenge only, where
// they would block the CNAME of a challenge.
func IsAttribute(name, recordType string) bool {
	if recordType == dns.TypeA || recordType == dns.TypeAAAA {
		return strings.HasPrefix(name, acmeChallenge)
	}
	return attributed(name) != ""
}

// attributed returns the part of a name after the last label that begins with an underscore, or "" if
// there is none.
func attributed(name string) string {
	start := strings.LastIndex(name, "._") + 1
	if start == 0 && !strings.HasPrefix(name, "_") {
		return ""
	}
	_, rest, _ := strings.Cut(name[start:], ".")
	return rest
}

// DescribedBy returns the names that a record set under name may say something about ([IsAttribute]): a
// name and its wildcard, which have one ACME challenge (RFC 8555, 7.1.3), or none.
func DescribedBy(name string) []string {
	rest := attributed(name)
	if rest == "" {
		return nil
	}
	return []string{rest, wildcard + rest}
}

// within reports whether a name is a domain or below it.
func within(name, domain string) bool {
	return name == domain || strings.HasSuffix(name, "."+domain)
}

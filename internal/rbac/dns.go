package rbac

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dns/budget/configmap"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/settings"
)

// eventsOfClusterObjects is the namespace of Events about objects that are in none.
const eventsOfClusterObjects = "default"

// DNS returns the roles that the dns role of a config needs. Account is the service account of
// the process; its namespace is that of DNSRecords, unless the config names one.
func DNS(c settings.Config, account types.NamespacedName) []Role {
	roles := reading(c)
	for _, p := range c.DNS.Publishers {
		if p.OwnsByObjects() {
			roles = add(roles, owning(p, account.Namespace))
		}
		if !p.DryRun {
			roles = add(roles, remembering(p, account.Namespace))
		}
	}
	if leader := c.DNS.Leader; leader.Elect {
		roles = add(roles, leading(leader))
	}
	return roles
}

// reading returns the roles for what the sources read, and for Events about that.
func reading(c settings.Config) []Role {
	namespaces := c.OnlyNamespaces()
	var everywhere, within, events Role
	for _, p := range c.DNS.Publishers {
		for _, read := range p.Reads() {
			role := &everywhere
			if namespaces != nil && read.Scope != source.InNone {
				role = &within
			}
			role.allow(rulesFor(read, p)...)
			if read.Scope == source.InNone {
				events.allow(sendEvents)
			} else {
				role.allow(sendEvents)
			}
		}
	}
	var roles []Role
	everywhere.Name = "signpost-dns"
	roles = add(roles, everywhere)
	for _, namespace := range namespaces {
		within.Name, within.Namespace = "signpost-dns", namespace
		roles = add(roles, within)
	}
	if events.Name, events.Namespace = "signpost-dns", eventsOfClusterObjects; !slices.ContainsFunc(everywhere.Rules, sendEvents.same) {
		roles = add(roles, events)
	}
	return roles
}

// sendEvents comes last, because every source needs it.
var sendEvents = Rule{Group: "events.k8s.io", Resource: "events", Verbs: []string{"create", "patch"}}

// rulesFor returns the rules for a kind that a source of a publisher reads.
func rulesFor(read configure.Read, p *configure.Options) []Rule {
	rules := []Rule{{Why: []string{read.Source}, Group: read.Kind.Group, Resource: read.Plural, Verbs: []string{"list", "watch"}}}
	for _, right := range read.More {
		if p.DryRun {
			break // these are for writing
		}
		resource := read.Plural
		if right.Subresource != "" {
			resource += "/" + right.Subresource
		}
		rules = append(rules, Rule{Why: []string{read.Source + ", " + right.Why}, Group: read.Kind.Group, Resource: resource, Verbs: right.Verbs})
	}
	return rules
}

// owning returns the role for --registry=crd: in the namespace of the DNSRecords only.
func owning(p *configure.Options, namespace string) Role {
	const group, resource = "externaldns.k8s.io", "dnsrecords"
	role := Role{Name: "signpost-dns-registry", Namespace: cmp.Or(p.Registry.CRDNamespace, namespace), Why: "--registry=crd"}
	if p.DryRun {
		role.allow(Rule{Group: group, Resource: resource, Verbs: []string{"get", "list", "watch"}})
		return role
	}
	role.allow(
		Rule{Group: group, Resource: resource, Verbs: []string{"get", "list", "watch", "create", "update", "delete"}},
		Rule{Group: group, Resource: resource + "/status", Verbs: []string{"update"}},
	)
	return role
}

// remembering returns the role for what was deleted and approved, which counts after a restart,
// too: in the namespace of the process.
func remembering(p *configure.Options, namespace string) Role {
	const resource = "configmaps"
	role := Role{Name: "signpost-dns-budget", Namespace: namespace, Why: "What was deleted and approved, which counts after a restart, too"}
	role.allow(
		Rule{Why: []string{"Creating can't be restricted to a name."}, Resource: resource, Verbs: []string{"create"}},
		Rule{Resource: resource, Object: configmap.Name(p.Name), Verbs: []string{"get", "update"}},
	)
	return role
}

// leading returns the role for --leader-elect.
func leading(leader settings.Leader) Role {
	const group, resource = "coordination.k8s.io", "leases"
	role := Role{Name: "signpost-dns-lease", Namespace: leader.ResourceNamespace, Why: "--leader-elect"}
	role.allow(
		Rule{Why: []string{"Creating can't be restricted to a name."}, Group: group, Resource: resource, Verbs: []string{"create"}},
		Rule{Group: group, Resource: resource, Object: leader.ResourceName, Verbs: []string{"get", "update"}},
	)
	return role
}

// add adds a role, or its rules to the role of its name and namespace. One without rules isn't
// added.
func add(roles []Role, role Role) []Role {
	if len(role.Rules) == 0 {
		return roles
	}
	for i := range roles {
		if roles[i].Name == role.Name && roles[i].Namespace == role.Namespace {
			roles[i].allow(role.Rules...)
			return roles
		}
	}
	return append(roles, role)
}

// allow adds rules. A rule that is there already gets the reasons of the other. Those about
// Events stay last.
func (r *Role) allow(rules ...Rule) {
	// The rules of roles for several namespaces are the same slice.
	r.Rules = slices.Clone(r.Rules)
	for _, rule := range rules {
		i := slices.IndexFunc(r.Rules, rule.same)
		if i < 0 {
			r.Rules = append(r.Rules, rule)
			continue
		}
		for _, why := range rule.Why {
			if !slices.Contains(r.Rules[i].Why, why) {
				r.Rules[i].Why = append(slices.Clip(r.Rules[i].Why), why)
			}
		}
	}
	slices.SortStableFunc(r.Rules, func(a, b Rule) int { return cmp.Compare(a.rank(), b.rank()) })
}

// rank is the place of a rule among others: what is read, then what is written, then Events.
func (r Rule) rank() int {
	switch {
	case r.same(sendEvents):
		return 2
	case slices.Contains(r.Verbs, "watch"):
		return 0
	default:
		return 1
	}
}

// same reports whether two rules allow the same.
func (r Rule) same(other Rule) bool {
	return r.Group == other.Group && r.Resource == other.Resource && r.Object == other.Object &&
		strings.Join(r.Verbs, ",") == strings.Join(other.Verbs, ",")
}

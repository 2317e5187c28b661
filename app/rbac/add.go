package rbac

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/kube"
)

// leading returns the role for a leader election. without is as in [Rule].
func leading(name string, leader settings.Leader, without string) Role {
	const group, resource = "coordination.k8s.io", "leases"
	role := Role{Name: name, Namespace: leader.ResourceNamespace, Why: "--leader-elect"}
	role.allow(
		Rule{Why: []string{"Creating can't be restricted to a name."}, Group: group, Resource: resource, Verbs: []string{"create"}, Without: without},
		Rule{Group: group, Resource: resource, Object: leader.ResourceName, Verbs: []string{"get", "update"}, Without: without},
	)
	return role
}

// read returns the rule for a table. absent is the consequence of a missing right to an optional
// kind.
func read(t kube.AnyTable, absent string, why ...string) Rule {
	r := t.Resource()
	rule := Rule{Why: why, Group: r.Group, Resource: r.Resource, Verbs: []string{"list", "watch"}}
	if !t.Status().Required {
		rule.Without = absent
	}
	return rule
}

// add adds a role, or its rules to an existing role with its name and namespace. A role without
// rules isn't added.
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

// allow adds rules, or their reasons to an equal rule. Rules about Events stay last.
func (r *Role) allow(rules ...Rule) {
	// Roles for several namespaces share the slice.
	r.Rules = slices.Clone(r.Rules)
	for _, rule := range rules {
		i := slices.IndexFunc(r.Rules, rule.same)
		if i < 0 {
			r.Rules = append(r.Rules, rule)
			continue
		}
		if rule.Without == "" {
			r.Rules[i].Without = "" // one of its users requires the right
		}
		for _, why := range rule.Why {
			if !slices.Contains(r.Rules[i].Why, why) {
				r.Rules[i].Why = append(slices.Clip(r.Rules[i].Why), why)
			}
		}
	}
	slices.SortStableFunc(r.Rules, func(a, b Rule) int { return cmp.Compare(a.rank(), b.rank()) })
}

// rank orders rules: reads, then writes, then Events.
func (r Rule) rank() int {
	switch {
	case r.Resource == "events":
		return 2
	case slices.Contains(r.Verbs, "watch"):
		return 0
	default:
		return 1
	}
}

// same reports whether two rules allow the same.
func (r Rule) same(other Rule) bool {
	return r.Group == other.Group && r.Resource == other.Resource && r.Object == other.Object && slices.Equal(r.Paths, other.Paths) &&
		strings.Join(r.Verbs, ",") == strings.Join(other.Verbs, ",")
}

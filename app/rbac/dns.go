package rbac

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/budget/configmap"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/source"
)

// eventsOfClusterObjects is the namespace of Events about cluster-scoped objects.
const eventsOfClusterObjects = "default"

// DNS returns the roles that the dns role of a config needs. account is the service account of the
// process; its namespace is that of DNSRecords, unless the config names one.
func DNS(c settings.Config, account types.NamespacedName) []Role {
	roles := reading(c)
	for _, p := range c.DNS.Publishers {
		if p.OwnsByObjects() {
			roles = add(roles, owning(p, account.Namespace))
		}
		if !p.DryRun {
			roles = add(roles, storing(p, account.Namespace))
		}
	}
	if leader := c.DNS.Leader; leader.Elect {
		roles = add(roles, leading("signpost-dns-lease", leader, ""))
	}
	return roles
}

// reading returns the roles for the sources' reads, and for Events about these objects: one for all
// namespaces, and one for each namespace that is read separately.
func reading(c settings.Config) []Role {
	of := c.NamespacesOf()
	roles := map[string]*Role{} // by namespace, "" for all of them
	role := func(namespace string) *Role {
		if roles[namespace] == nil {
			roles[namespace] = &Role{Name: "signpost-dns", Namespace: namespace}
		}
		return roles[namespace]
	}
	aboutClusterObjects := false
	for _, p := range c.DNS.Publishers {
		if p.DerivesInstance() && len(p.Reads()) > 0 && (of == nil || len(p.Source.OnlyNamespaces()) == 0) {
			role("").allow(readInstance)
		}
		for _, read := range p.Reads() {
			namespaces := of[read.GroupResource()]
			if len(namespaces) == 0 {
				namespaces = []string{""}
			}
			for _, namespace := range namespaces {
				role(namespace).allow(rulesFor(read, p)...)
				// Events are only sent about objects that give records.
				if read.Scope == source.InNamespaces || read.Scope != source.InNone && !read.Dependency {
					role(namespace).allow(sendEvents)
				}
			}
			aboutClusterObjects = aboutClusterObjects || read.Scope == source.InNone
		}
	}
	if aboutClusterObjects && !slices.ContainsFunc(role("").Rules, sendEvents.same) {
		role(eventsOfClusterObjects).allow(sendEvents)
	}
	var all []Role
	for _, namespace := range slices.Sorted(maps.Keys(roles)) {
		all = add(all, *roles[namespace])
	}
	return all
}

// sendEvents comes last, because every source needs it.
var sendEvents = Rule{Group: "events.k8s.io", Resource: "events", Verbs: []string{"create", "patch"}, Without: "no Events about records are sent"}

// readInstance is for the instance of a publisher.
var readInstance = Rule{
	Resource: "namespaces", Object: configure.InstanceNamespace, Verbs: []string{"get"},
	Without: "records of another cluster with the same owner ID can't be distinguished from our own",
}

// rulesFor returns the rules for a kind that a source of a publisher reads.
func rulesFor(read configure.Read, p *configure.Options) []Rule {
	rules := []Rule{{Why: []string{read.Source}, Group: read.Kind.Group, Resource: read.Plural, Verbs: []string{"list", "watch"}, Without: read.Without}}
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

// owning returns the role for --registry=crd, in the namespace of the DNSRecords only.
func owning(p *configure.Options, namespace string) Role {
	group, resource := p.OwnerResource().Group, p.OwnerResource().Resource
	role := Role{Name: "signpost-dns-registry", Namespace: cmp.Or(p.Registry.CRDNamespace, namespace), Why: "--registry=crd"}
	if p.DryRun {
		role.allow(Rule{Group: group, Resource: resource, Verbs: []string{"get", "list"}})
		return role
	}
	role.allow(
		Rule{Group: group, Resource: resource, Verbs: []string{"get", "list", "create", "update", "delete"}},
		Rule{Group: group, Resource: resource + "/status", Verbs: []string{"update"}},
	)
	return role
}

// storing returns the role for stored budgets and approvals, in the namespace of the process.
func storing(p *configure.Options, namespace string) Role {
	const resource, without = "configmaps", "the process counts deletions for itself, and has forgotten them after a restart"
	role := Role{Name: "signpost-dns-budget", Namespace: namespace, Why: "What was deleted and approved, which counts after a restart, too"}
	role.allow(
		Rule{Why: []string{"Creating can't be restricted to a name."}, Resource: resource, Verbs: []string{"create"}, Without: without},
		Rule{Resource: resource, Object: configmap.Name(p.Name), Verbs: []string{"get", "update"}, Without: without},
	)
	return role
}

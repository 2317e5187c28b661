package rbac

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/kube/linked"
	"github.com/signpostd/signpost/xds/auth"
)

// Needed are the rights of one role of a process.
type Needed struct {
	// Section is the role's section in the config file.
	Section string
	Roles   []Role
}

// All returns the rights of each running role of a config. account is as for [DNS].
func All(c settings.Config, account types.NamespacedName) []Needed {
	var all []Needed
	if c.RunsDestination {
		all = append(all, Needed{settings.DestinationSection, Destination(c)})
	}
	if c.RunsControllers {
		all = append(all, Needed{settings.ControllersSection, Controllers(c)})
	}
	if c.RunsDNS {
		all = append(all, Needed{settings.DNSSection, DNS(c, account)})
	}
	if c.RunsXDS {
		all = append(all, Needed{settings.XDSSection, XDS(c)})
	}
	return all
}

const (
	// absent is the consequence for serving of a missing right to read an optional kind.
	absent = "objects of this kind are taken to be absent"
	// unwritten is the consequence of a missing right to read or write for ExternalWorkloads.
	unwritten = "no EndpointSlices are written for ExternalWorkloads"
)

// Destination returns the roles that the destination role of a config needs.
func Destination(c settings.Config) []Role {
	o := c.Destination.Settled()
	serving := Role{Name: "signpost-destination"}
	for _, t := range kinds.CatalogTables(nil, o.EndpointsFrom()) {
		serving.allow(read(t, absent))
	}
	links := Role{Name: "signpost-destination-links", Namespace: o.LinkNamespace, Why: "Linked clusters: in the namespace of --link-namespace, or else of --controller-namespace"}
	links.allow(
		read(linked.Reads(), "there are no linked clusters"),
		Rule{Why: []string{"About clusters that can't be read."}, Resource: "events", Verbs: []string{"create", "patch"}, Without: "no Events about linked clusters are sent"},
	)
	roles := []Role{serving}
	if c.DestinationWrites() {
		const without = unwritten + "; serving doesn't need it"
		writing := Role{Name: "signpost-destination-writer", Why: "Writing EndpointSlices of ExternalWorkloads: without this, everything is served all the same"}
		// The rules for reading serve too, so they are in the first role.
		for _, rule := range writes(controllers.ExternalWorkloads) {
			rule.Without, rule.Why = cmp.Or(rule.Without, without), nil
			writing.allow(rule)
		}
		roles = append(roles, writing)
		if o.Leader.Elect {
			roles = append(roles, leading("signpost-destination-lease", o.Leader, without))
		}
	}
	return append(roles, links)
}

// Linked returns what the credentials for a linked cluster need there.
func Linked(from kinds.EndpointsFrom) Role {
	var role Role
	for _, t := range kinds.LinkedTables(nil, from) {
		role.allow(read(t, absent))
	}
	return role
}

// XDS returns the roles that the xds role of a config needs, alone in its process. It reads what
// the destination role reads, and writes nothing but Events.
func XDS(c settings.Config) []Role {
	serving := Role{Name: "signpost-xds"}
	for _, t := range kinds.CatalogTables(nil, kinds.FromEndpointSlices) {
		serving.allow(read(t, absent))
	}
	serving.allow(Rule{
		Why: []string{"About resources of Services that clients reject."}, Resource: "events", Verbs: []string{"create", "patch"},
		Without: "no Events about rejected resources are sent",
	})
	roles := []Role{serving}
	if c.XDS.Auth == settings.XDSAuthToken {
		tokens := Role{Name: "signpost-xds-tokens", Why: "--xds-auth=token: the keys of service account tokens, which every service account may read by default"}
		tokens.allow(Rule{Paths: auth.Paths(), Verbs: []string{"get"}})
		roles = append(roles, tokens)
	}
	links := Role{Name: "signpost-xds-links", Namespace: c.XDS.LinkNamespace, Why: "Linked clusters: in the namespace of --link-namespace"}
	links.allow(
		read(linked.Reads(), "there are no linked clusters"),
		Rule{Why: []string{"About clusters that can't be read."}, Resource: "events", Verbs: []string{"create", "patch"}, Without: "no Events about linked clusters are sent"},
	)
	return append(roles, links)
}

// Controllers returns the roles that the controllers role of a config needs.
func Controllers(c settings.Config) []Role {
	names, err := c.Controllers.Names()
	if err != nil {
		return nil // refused with the settings
	}
	role := Role{Name: "signpost-controllers"}
	for _, name := range names {
		for _, t := range controllers.Reads(name) {
			role.allow(read(t, unwritten, string(name)))
		}
		role.allow(writes(name)...)
	}
	roles := []Role{role}
	if leader := c.Controllers.Leader; leader.Elect {
		roles = append(roles, leading("signpost-controllers-lease", leader, ""))
	}
	return roles
}

// writes returns the rules of a controller except those for reading.
func writes(name controllers.Name) []Rule {
	var rules []Rule
	for _, right := range controllers.Rights(name) {
		why := string(name)
		if right.Why != "" {
			why += ", " + right.Why
		}
		rules = append(rules, Rule{Why: []string{why}, Group: right.Group, Resource: right.Resource, Verbs: right.Verbs, Without: right.Without})
	}
	return rules
}

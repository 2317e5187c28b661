package process

import (
	"net/http"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube/linked"
	"github.com/signpostd/signpost/xds"
)

// newXDSRole makes the role that serves xDS. It answers from the catalog of the destination role if that runs in the
// same process, and else from one of its own, for which shared is nil.
func newXDSRole(in roleInput, o settings.XDS, shared *discovery) (role, error) {
	found := shared
	if found == nil {
		var err error
		if found, err = newDiscovery(in, discoverySettings(o)); err != nil {
			return role{}, err
		}
	}
	server := xds.NewServer(found.known, xds.Config{
		ClusterDomain: o.ClusterDomain, EnableIPv6: o.EnableIPv6, Authorities: o.Authorities, EgressBudget: o.EgressBudget,
		MaxConnectionAge: o.MaxConnectionAge, Limits: o.Limits, History: in.History,
	}, in.Registerer, in.Log)
	serve := []run.Actor{{Name: "xds", Run: server.Run}}
	r := role{
		Name:          settings.XDSSection,
		Addr:          o.Addr,
		AddrFlag:      "xds-addr",
		ServerOptions: server.ServerOptions(),
		Listener:      server.Listener,
		Register:      server.Register,
		Actors:        func(<-chan struct{}) []run.Actor { return serve },
		Ready:         func() bool { return channel.IsClosed(found.known.Synced()) },
		Offer:         inspect.Offer{Streams: &inspectedXDS{server: server}},
	}
	if shared != nil {
		return r, nil
	}
	r.Tables = found.tables
	r.Actors = func(settled <-chan struct{}) []run.Actor { return append(found.actors(settled), serve...) }
	r.Details = func() []string { return missing(found.links.set.Secrets()) }
	r.Handlers = map[string]http.Handler{linked.StatusPath: found.links.handler()}
	r.Report = found.links.report
	r.Clusters = func() []inspect.Cluster { return clustersOf(found.links.set.Status()) }
	return r, nil
}

// discoverySettings returns the settings of a destination role with the catalog that the xds role needs.
func discoverySettings(o settings.XDS) settings.Destination {
	d := settings.Default().Destination
	d.LinkNamespace, d.LinkedClustersThroughProxies = o.LinkNamespace, o.LinkedClustersThroughProxies
	return d
}

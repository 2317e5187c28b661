package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/certfiles"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/xds"
	"github.com/signpostd/signpost/xds/auth"
	"github.com/signpostd/signpost/xds/resource"
)

// newXDSRole makes the role that serves xDS. If the destination role runs in the same process, shared
// has its catalog. If shared is nil, the role has a catalog of its own.
func newXDSRole(in roleInput, o settings.XDS, shared *discovery) (role, error) {
	found := shared
	if found == nil {
		var err error
		found, err = newDiscovery(in, discoveryConfig{
			from: kinds.FromEndpointSlices, linkNamespace: o.LinkNamespace, throughProxies: o.LinkedClustersThroughProxies,
		})
		if err != nil {
			return role{}, err
		}
	}
	config := xds.Config{
		Namer:      resource.Namer{ClusterDomain: o.ClusterDomain, TrustDomain: o.IdentityTrustDomain, Authorities: o.Authorities},
		EnableIPv6: o.EnableIPv6, EgressBudget: o.EgressBudget, MaxConnectionAge: o.MaxConnectionAge, Limits: o.Limits, History: in.History,
		Outdated: func() string { return found.outdated("services") },
		Rejected: reportRejection(found.links.events.For("signpost-xds")),
	}
	access, err := newXDSAccess(o, found.links.client, in.Log)
	if err != nil {
		return role{}, err
	}
	config.TLS, config.Authenticate = access.tls, access.authenticate
	server := xds.NewServer(found.known, config, in.Registerer, in.Log)
	serve := append([]run.Actor{{Name: "xds", Run: server.Run}}, access.actors...)
	r := role{
		Name: settings.XDSSection,
		Server: &grpcServer{
			Setting: settings.XDSAddress, LogKey: "xds", Addr: o.Addr,
			Options: server.ServerOptions(), Register: server.Register, Listener: server.Listener,
		},
		Actors: func(<-chan struct{}) []run.Actor { return serve },
		Ready:  func() bool { return channel.IsClosed(found.known.Synced()) && access.ready() },
		Offer:  inspect.Offer{Streams: &inspectedXDS{server: server}, Explains: &explainedXDS{known: found.known, server: server}},
	}
	if shared == nil {
		found.addTo(&r)
	}
	return r, nil
}

// reportRejection returns the function that sends an Event about a resource of a Service that clients reject.
func reportRejection(to record.EventRecorder) func(catalog.ServiceKey, string) {
	return func(key catalog.ServiceKey, message string) {
		if key.Cluster != catalog.LocalCluster {
			return // the Service is in another cluster
		}
		service := &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: key.Namespace, Name: key.Name}
		to.Event(service, corev1.EventTypeWarning, "XdsRejected", message)
	}
}

// xdsAccess has the authentication of xDS clients.
type xdsAccess struct {
	tls          *tls.Config        // nil without TLS
	authenticate auth.Authenticator // nil without authentication
	actors       []run.Actor
	ready        func() bool
}

// newXDSAccess returns the access of the settings. It fails if certificates can't be read.
func newXDSAccess(o settings.XDS, client *kubernetes.Clientset, log *slog.Logger) (xdsAccess, error) {
	a := xdsAccess{ready: func() bool { return true }}
	if o.TLSCert != "" {
		config, err := certfiles.Files{Cert: o.TLSCert, Key: o.TLSKey, ClientCA: o.ClientCA}.Server(log)
		if err != nil {
			return a, fmt.Errorf("serve xDS with TLS (--xds-tls-cert): %w", err)
		}
		a.tls = config
	}
	switch o.Auth {
	case settings.XDSAuthToken:
		keys := auth.NewKeys(func(ctx context.Context, path string) ([]byte, error) {
			return client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json, application/jwk-set+json").Do(ctx).Raw()
		}, log)
		a.authenticate, a.ready = keys.Authenticate, keys.Ready
		a.actors = []run.Actor{{Name: "keys of tokens", Run: keys.Run}}
	case settings.XDSAuthMTLS:
		a.authenticate = auth.Certificates(o.ClientTrustDomains)
	}
	return a, nil
}

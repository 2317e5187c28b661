package plugins

import (
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/aws"
	"github.com/signpostd/signpost/dns/provider/awssd"
	"github.com/signpostd/signpost/dns/provider/azure"
	"github.com/signpostd/signpost/dns/provider/cloudflare"
	"github.com/signpostd/signpost/dns/provider/coredns"
	"github.com/signpostd/signpost/dns/provider/google"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/provider/libdns"
	"github.com/signpostd/signpost/dns/provider/log"
	"github.com/signpostd/signpost/dns/provider/pdns"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/dns/provider/rfc2136"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/ambassadorhost"
	"github.com/signpostd/signpost/dns/source/connector"
	"github.com/signpostd/signpost/dns/source/contourhttpproxy"
	"github.com/signpostd/signpost/dns/source/contouringressroute"
	"github.com/signpostd/signpost/dns/source/crd"
	"github.com/signpostd/signpost/dns/source/empty"
	"github.com/signpostd/signpost/dns/source/externalworkload"
	"github.com/signpostd/signpost/dns/source/f5"
	"github.com/signpostd/signpost/dns/source/fake"
	"github.com/signpostd/signpost/dns/source/gateway"
	"github.com/signpostd/signpost/dns/source/glooproxy"
	"github.com/signpostd/signpost/dns/source/ingress"
	"github.com/signpostd/signpost/dns/source/istiogateway"
	"github.com/signpostd/signpost/dns/source/istiovirtualservice"
	"github.com/signpostd/signpost/dns/source/kongtcpingress"
	"github.com/signpostd/signpost/dns/source/node"
	"github.com/signpostd/signpost/dns/source/openshiftroute"
	"github.com/signpostd/signpost/dns/source/pod"
	"github.com/signpostd/signpost/dns/source/service"
	"github.com/signpostd/signpost/dns/source/skipperroutegroup"
	"github.com/signpostd/signpost/dns/source/traefikproxy"
	"github.com/signpostd/signpost/dns/source/unstructured"
)

// Sources returns all kinds of sources in the order of the documentation.
func Sources() []source.Plugin {
	return []source.Plugin{
		service.Plugin(),
		ingress.Plugin(),
		node.Plugin(),
		pod.Plugin(),
		externalworkload.Plugin(),
		gateway.HTTPRoute(),
		gateway.GRPCRoute(),
		gateway.TLSRoute(),
		gateway.TCPRoute(),
		gateway.UDPRoute(),
		istiogateway.Plugin(),
		istiovirtualservice.Plugin(),
		contourhttpproxy.Plugin(),
		contouringressroute.Plugin(),
		openshiftroute.Plugin(),
		glooproxy.Plugin(),
		ambassadorhost.Plugin(),
		traefikproxy.Plugin(),
		kongtcpingress.Plugin(),
		skipperroutegroup.Plugin(),
		f5.VirtualServer(),
		f5.TransportServer(),
		crd.Plugin(),
		unstructured.Plugin(),
		connector.Plugin(),
		fake.Plugin(),
		empty.Plugin(),
	}
}

// Providers returns all kinds of providers in the order of the documentation.
func Providers() []provider.Plugin {
	return []provider.Plugin{
		aws.Plugin(),
		cloudflare.Plugin(),
		azure.Plugin(),
		azure.PrivatePlugin(),
		google.Plugin(),
		awssd.Plugin(),
		rfc2136.Plugin(),
		coredns.Plugin(),
		pdns.Plugin(),
		libdns.Plugin(),
		webhook.Plugin(),
		inmemory.Plugin(),
		log.Plugin(),
	}
}

// Declarations returns the properties of all providers: those of the binary, and the others of
// ExternalDNS, whose properties and annotations other programs use.
func Declarations() dns.Declarations {
	var all dns.Declarations
	add := func(d dns.Declaration) {
		// Two providers may have the same properties.
		if d.Prefix != "" && !slices.ContainsFunc(all, func(other dns.Declaration) bool { return other.Prefix == d.Prefix }) {
			all = append(all, d)
		}
	}
	for _, p := range Providers() {
		add(p.Properties)
	}
	for _, known := range properties.Known() {
		add(known)
	}
	return all
}

package resource

import (
	"fmt"
	"slices"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// validation returns what a Cluster has clients verify, nil without TLS.
func validation(t *testing.T, r Resource) *tlsv3.CertificateValidationContext {
	t.Helper()
	socket := decode(t, body(t, r), &cluster.Cluster{}).GetTransportSocket()
	if socket == nil {
		return nil
	}
	common := decode(t, socket.GetTypedConfig().GetValue(), &tlsv3.UpstreamTlsContext{}).GetCommonTlsContext()
	verify := common.GetValidationContext()
	for _, provider := range []*tlsv3.CertificateProviderPluginInstance{common.GetTlsCertificateProviderInstance(), verify.GetCaCertificateProviderInstance()} {
		if socket.GetName() != "envoy.transport_sockets.tls" || provider.GetInstanceName() != "default" {
			t.Errorf("transport socket %v", socket)
		}
	}
	return verify
}

func endpointOf(w *catalog.Workload, from *catalog.Cluster) catalog.PlacedEndpoint {
	return catalog.PlacedEndpoint{Endpoint: catalog.Endpoint{Address: &catalog.Address{Target: &catalog.Target{Workload: w}}, Source: &catalog.Source{Cluster: from}}}
}

// A Cluster names the identities of its endpoints, and never none: clients accept any certificate then.
func TestUpstreamTLS(t *testing.T) { // case 39
	pod := func(account string, labels ...string) *catalog.Workload {
		w := &catalog.Workload{Key: catalog.WorkloadKey{Kind: catalog.Pod, Namespace: "shop", Name: "web-0"}, ServiceAccount: account}
		if labels != nil {
			w.Labels = objectmeta.NewLabels(map[string]string{"linkerd.io/control-plane-ns": labels[0]})
		}
		return w
	}
	machine := func(form catalog.IdentityForm, name string) *catalog.Workload {
		return &catalog.Workload{Key: catalog.WorkloadKey{Kind: catalog.ExternalWorkload, Namespace: "shop", Name: "vm"}, MeshTLS: catalog.MeshTLS{Identity: catalog.Identity{Form: form, Name: name}}}
	}
	east := &catalog.Cluster{Name: "east", TrustDomain: "east.test"}
	var many []catalog.PlacedEndpoint
	for i := range maxIdentities + 1 {
		many = append(many, endpointOf(pod(fmt.Sprint("a", i), "linkerd"), nil))
	}
	none := []string{"exact:" + noIdentity}
	for name, tc := range map[string]struct {
		set             []catalog.PlacedEndpoint
		spiffe, linkerd []string
	}{
		"no endpoints":            {nil, none, none},
		"a pod that isn't known":  {[]catalog.PlacedEndpoint{{Endpoint: catalog.Endpoint{Address: &catalog.Address{}}}}, none, none},
		"pods of two accounts":    {[]catalog.PlacedEndpoint{endpointOf(pod("b"), nil), endpointOf(pod("a"), nil), endpointOf(pod("b"), nil)}, []string{"exact:spiffe://td/ns/shop/sa/a", "exact:spiffe://td/ns/shop/sa/b"}, none},
		"the default account":     {[]catalog.PlacedEndpoint{endpointOf(pod(""), nil)}, []string{"exact:spiffe://td/ns/shop/sa/default"}, none},
		"a meshed pod":            {[]catalog.PlacedEndpoint{endpointOf(pod("a", "linkerd"), nil)}, []string{"exact:spiffe://td/ns/shop/sa/a"}, []string{"exact:a.shop.serviceaccount.identity.linkerd.td"}},
		"a linked cluster":        {[]catalog.PlacedEndpoint{endpointOf(pod("a"), east)}, []string{"exact:spiffe://east.test/ns/shop/sa/a"}, none},
		"a machine with a URI":    {[]catalog.PlacedEndpoint{endpointOf(machine(catalog.URIIdentity, "spiffe://td/vm"), nil)}, []string{"exact:spiffe://td/vm"}, none},
		"a machine with a name":   {[]catalog.PlacedEndpoint{endpointOf(machine(catalog.DNSIdentity, "vm.td"), nil)}, none, []string{"exact:vm.td"}},
		"a machine without any":   {[]catalog.PlacedEndpoint{endpointOf(machine(0, ""), nil)}, none, none},
		"more than can be listed": {many, []string{"prefix:spiffe://td/"}, []string{"suffix:.td"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := namer
			n.TrustDomain = "td"
			for tls, want := range map[catalog.EndpointTLS][]string{catalog.SPIFFE: tc.spiffe, catalog.LinkerdTLS: tc.linkerd} {
				s := web()
				s.Service.Policy = &catalog.TrafficPolicy{TLS: tls}
				s.Endpoints = tc.set
				// A client that rejects other settings doesn't get rid of TLS.
				full, plain := n.Cluster(webCluster, s, GRPC)
				for _, r := range []Resource{full, plain} {
					var got []string
					//lint:ignore SA1019 gRPC clients read this field (gRFC A29), and not the one that Envoy has in its place
					for _, m := range validation(t, r).GetMatchSubjectAltNames() {
						switch {
						case m.GetPrefix() != "":
							got = append(got, "prefix:"+m.GetPrefix())
						case m.GetSuffix() != "":
							got = append(got, "suffix:"+m.GetSuffix())
						default:
							got = append(got, "exact:"+m.GetExact())
						}
					}
					if !slices.Equal(got, want) {
						t.Errorf("TLS %d: %q, want %q", tls, got, want)
					}
				}
				if validation(t, clusterOf(webCluster, s, Envoy)) != nil {
					t.Error("Envoy gets TLS, whose certificate providers it doesn't have")
				}
			}
		})
	}
	if validation(t, clusterOf(webCluster, web(), GRPC)) != nil {
		t.Error("a Service without the annotation has TLS")
	}
}

package destination

import (
	"testing"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// onNode maps the port 80 of a meshed pod to 7777 on its node.
func onNode(edits ...func(*catalog.Workload)) *catalog.Workload {
	return profilePod("a", "10.0.0.1", append([]func(*catalog.Workload){meshed, func(w *catalog.Workload) {
		w.HostIPs = profileIPs("192.168.0.1")
		w.Ports = append(w.Ports, catalog.WorkloadPort{Name: "http", Port: 80, HostPort: 7777})
	}}, edits...)...)
}

// wantOpaqueAtNode expects opaque traffic that isn't wrapped for the proxy's inbound port.
func wantOpaqueAtNode(p *pb.DestinationProfile) {
	wantTransport(p)
	p.Endpoint.ProtocolHint.OpaqueTransport = nil
}

func wantUnmeshed(p *pb.DestinationProfile) {
	p.Endpoint.TlsIdentity, p.Endpoint.ProtocolHint, p.Endpoint.Http2 = nil, nil, nil
}

// At the address of its node, a pod is described by the port that it listens on. Clients don't get the
// inbound port of its proxy, because nothing maps that port (mesh finding 1).
func TestProfileAtNode(t *testing.T) {
	const at = "192.168.0.1:7777"
	skips := func(list string) func(*catalog.Workload) {
		return func(w *catalog.Workload) { w.SkipInboundPorts = portsOf(list) }
	}
	named := profileOpaqueServer(0)
	named.PortName = "http"
	h2, opaque := wantAddress(at, wantPod("a"), wantMeshed), wantAddress(at, wantPod("a"), wantMeshed, wantOpaqueAtNode)
	playProfiles(t, map[string]profilePlay{
		"opaque by the port of the pod":  {path: at, events: []profileEvent{after(opaque, onNode(profileAnnotated("80"))), after(h2, onNode(profileAnnotated("7777")))}},
		"opaque by name":                 {path: at, events: []profileEvent{after(opaque, onNode(profileAnnotated("http")))}},
		"a Server numbers its port":      {path: at, events: []profileEvent{after(opaque, onNode(), profileOpaqueServer(80)), after(h2, profileOpaqueServer(7777)), after(opaque, named)}},
		"skipped by the port of the pod": {path: at, events: []profileEvent{after(wantAddress(at, wantPod("a"), wantMeshed, wantUnmeshed), onNode(skips("80"))), after(h2, onNode(skips("7777")))}},
		"by its own address as before": {path: "10.0.0.1:80", events: []profileEvent{
			after(wantAddress("10.0.0.1:80", wantPod("a"), wantMeshed, wantTransport), onNode(profileAnnotated("80"))),
		}},
	})
}

// With outbound-transport-mode=transport-header, too, clients don't get a port of the node that nothing maps.
// A pod in the network of its node has all of its ports (mesh finding 1).
func TestHintAtNode(t *testing.T) {
	forced := &Config{ForceOpaqueTransport: true, EnableH2Upgrade: true, ControllerNamespace: "linkerd"}
	target := &catalog.Target{Workload: &catalog.Workload{Proxy: &proxyListeners, Labels: objectmeta.NewLabels(map[string]string{catalog.ControlPlaneLabel: "linkerd"})}}
	for mapped, want := range map[bool]uint32{true: 0, false: 4143} {
		hint, err := forced.podHint(podPort{target: target, port: 80, mapped: mapped})
		if err != nil || hint.GetOpaqueTransport().GetInboundPort() != want {
			t.Errorf("mapped %v: the hint is %v (error %v), want the inbound port %d", mapped, hint, err, want)
		}
	}
}

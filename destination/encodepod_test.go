package destination

import (
	"net/netip"
	"testing"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/catalog"
)

// podLabelsWanted are the labels of E10.
var podLabelsWanted = map[string]string{
	"pod": "a", "replicationcontroller": "rc", "serviceaccount": "serviceaccount-name", "control_plane_ns": "linkerd", "zone": "", "zone_locality": "unknown",
}

// podIdentity is the identity of E11.
const podIdentity = "serviceaccount-name.ns.serviceaccount.identity.linkerd.trust.domain"

// meshedPod returns the encoding of a meshed pod with this hint.
func meshedPod(hint func(*pb.WeightedAddr), edits ...func(*pb.WeightedAddr)) *pb.WeightedAddr {
	return wantAddr(podLabelsWanted, append([]func(*pb.WeightedAddr){identified(podIdentity, podIdentity), hint}, edits...)...)
}

func listening(inbound, admin, control string) func(*catalog.Workload) {
	return func(w *catalog.Workload) {
		w.Proxy = &catalog.ProxyListeners{Inbound: listener(inbound), Admin: listener(admin), Control: listener(control)}
	}
}

// listener returns the listener of an address in a variable of the proxy.
func listener(address string) catalog.Listener {
	a, err := netip.ParseAddrPort(address)
	return catalog.Listener{Port: a.Port(), Known: err == nil}
}

var proxyListeners = catalog.ProxyListeners{Inbound: listener("0.0.0.0:4143"), Admin: listener("0.0.0.0:4191"), Control: listener("0.0.0.0:4190")}

// Hints of meshed pods (§2.8): E8, E9, E11, E12, E21, G6, G8, G9.
func TestEncodePodHint(t *testing.T) {
	admin := serving(4191, slice("s", at("10.0.0.1", podKey("a"))))
	control := serving(4190, slice("s", at("10.0.0.1", podKey("a"))))
	skipped := func(w *catalog.Workload) { w.SkipInboundPorts = portsOf("8000-8080") }
	app := labelled(map[string]string{catalog.ControlPlaneLabel: "linkerd", "app": "web"})
	server := []catalog.Object{opaqueServer(8080, "web")}
	const in, ad, co = "0.0.0.0:4143", "0.0.0.0:4191", "0.0.0.0:4190"
	runEncode(t, map[string]encodeCase{
		"E11 meshed":                        {behind: pod("a"), want: meshedPod(hinting(h2(), 0))},
		"without H2 upgrade":                {behind: pod("a"), config: noH2, want: meshedPod(hinting(&pb.ProtocolHint{}, 0))},
		"E8 force":                          {behind: pod("a"), config: force, want: meshedPod(hinting(h2(), 4143))},
		"E8 E21 force, IPv6 listener":       {behind: pod("a", listening("[2001:db8::94]:4143", ad, co)), config: force, want: meshedPod(hinting(h2(), 4143))},
		"E21 1.2.3.4:8080":                  {behind: pod("a", listening("1.2.3.4:8080", ad, co)), config: force, want: meshedPod(hinting(h2(), 8080))},
		"E21 [2001:db8::94]:8080":           {behind: pod("a", listening("[2001:db8::94]:8080", ad, co)), config: force, want: meshedPod(hinting(h2(), 8080))},
		"force without H2 upgrade":          {behind: pod("a"), config: func(c *Config) { force(c); noH2(c) }, want: meshedPod(hinting(&pb.ProtocolHint{}, 4143))},
		"E9 force, the admin port":          {behind: pod("a"), slice: admin, config: force, want: meshedPod(hinting(h2(), 0), onPort(4191))},
		"E9 force, the control port":        {behind: pod("a"), slice: control, config: force, want: meshedPod(hinting(h2(), 0), onPort(4190))},
		"E9 the admin port, opaque":         {behind: pod("a", opaqueOn("4191")), slice: admin, want: meshedPod(hinting(opaque(), 0), onPort(4191))},
		"E12 opaque by annotation":          {behind: pod("a", opaqueOn("8080")), want: meshedPod(hinting(opaque(), 4143))},
		"E12 opaque by name":                {behind: pod("a", opaqueOn("http")), want: meshedPod(hinting(opaque(), 4143))},
		"opaque by default":                 {behind: pod("a"), slice: serving(3306, slice("s", at("10.0.0.1", podKey("a")))), want: meshedPod(hinting(opaque(), 4143), onPort(3306))},
		"opaque by default, annotated away": {behind: pod("a", opaqueOn("")), slice: serving(3306, slice("s", at("10.0.0.1", podKey("a")))), want: meshedPod(hinting(h2(), 0), onPort(3306))},
		"G9 opaque by a Server":             {behind: pod("a", app), objects: server, want: meshedPod(hinting(opaque(), 4143))},
		"G9 a Server of others":             {behind: pod("a"), objects: server, want: meshedPod(hinting(h2(), 0))},
		"G6 HTTP/2 parameters":              {behind: pod("a"), config: withHTTP2, want: meshedPod(hinting(h2(), 0), speaking(http2Params))},
		"G8 skipped":                        {behind: pod("a", skipped), config: withHTTP2, want: wantAddr(podLabelsWanted)},
		"G8 skipped and opaque":             {behind: pod("a", skipped, opaqueOn("8080")), config: force, want: wantAddr(podLabelsWanted)},
		"G8 skipped, without a proxy":       {behind: pod("a", skipped, func(w *catalog.Workload) { w.Proxy = nil }), want: wantAddr(podLabelsWanted)},
		"no proxy container":                {behind: pod("a", func(w *catalog.Workload) { w.Proxy = nil })},
		"no admin listener":                 {behind: pod("a", listening(in, "", co))},
		"no control listener":               {behind: pod("a", listening(in, ad, ""))},
		"an admin listener without port":    {behind: pod("a", listening(in, "0.0.0.0", co))},
		"no inbound listener, not needed":   {behind: pod("a", listening("", ad, co)), want: meshedPod(hinting(h2(), 0))},
		"no inbound listener, needed":       {behind: pod("a", listening("", ad, co)), config: force},
		"inbound port 0":                    {behind: pod("a", listening("0.0.0.0:0", ad, co)), config: force},
		"inbound port 0, not needed":        {behind: pod("a", listening("0.0.0.0:0", ad, co)), slice: admin, config: force, want: meshedPod(hinting(h2(), 0), onPort(4191))},
	})
}

// The identities of pods (§2.8): E11, G7.
func TestEncodePodIdentity(t *testing.T) {
	meshedBy := func(namespace string) func(*catalog.Workload) {
		return labelled(map[string]string{catalog.ControlPlaneLabel: namespace})
	}
	elsewhere := with(podLabelsWanted, "control_plane_ns", "other")
	unmeshed := with(podLabelsWanted)
	delete(unmeshed, "control_plane_ns")
	nobody := func(w *catalog.Workload) { w.ServiceAccount = "" }
	const defaultIdentity = "default.ns.serviceaccount.identity.linkerd.trust.domain"
	runEncode(t, map[string]encodeCase{
		"E11 meshed":                  {behind: pod("a"), want: meshedPod(hinting(h2(), 0))},
		"the default service account": {behind: pod("a", nobody), want: wantAddr(with(podLabelsWanted, "serviceaccount", "default"), identified(defaultIdentity, defaultIdentity), hinting(h2(), 0))},
		"by another control plane":    {behind: pod("a", meshedBy("other")), config: withHTTP2, want: wantAddr(elsewhere, hinting(h2(), 0), speaking(http2Params))},
		"no trust domain":             {behind: pod("a"), config: func(c *Config) { c.TrustDomain = "" }, want: wantAddr(podLabelsWanted, hinting(h2(), 0))},
		"G7 not meshed":               {behind: pod("a", labelled(nil)), config: withHTTP2, want: wantAddr(unmeshed)},
		"P14 not meshed and opaque":   {behind: pod("a", labelled(nil), opaqueOn("8080")), config: force, want: wantAddr(unmeshed)},
		"not meshed, without proxy":   {behind: pod("a", labelled(nil), func(w *catalog.Workload) { w.Proxy = nil }), want: wantAddr(unmeshed)},
	})
}

// Metric labels and weights of pods (§2.8): E10, E19, E22.
func TestEncodePodLabels(t *testing.T) {
	ownedBy := func(kind, name string) func(*catalog.Workload) {
		return func(w *catalog.Workload) { w.Owner = catalog.OwnerRef{Kind: kind, Name: name} }
	}
	owner := func(kind, name, parentKind, parent string) []catalog.Object {
		return []catalog.Object{&catalog.Owner{
			Cluster: catalog.LocalCluster, Namespace: "ns", OwnerRef: catalog.OwnerRef{Kind: kind, Name: name}, Parent: catalog.OwnerRef{Kind: parentKind, Name: parent},
		}}
	}
	ownerless := with(podLabelsWanted)
	delete(ownerless, "replicationcontroller")
	hashed := labelled(map[string]string{catalog.ControlPlaneLabel: "linkerd", "pod-template-hash": "hash"})
	id, hint := identified(podIdentity, podIdentity), hinting(h2(), 0)
	east := slice("s", at("10.0.0.1", podKey("a"), inZone("east")))
	runEncode(t, map[string]encodeCase{
		"E10": {behind: pod("a"), want: wantAddr(podLabelsWanted, id, hint)},
		"E22": {
			behind: pod("a", hashed, ownedBy("ReplicaSet", "rs")), objects: owner("ReplicaSet", "rs", "Deployment", "web"),
			want: wantAddr(with(ownerless, "deployment", "web", "pod_template_hash", "hash"), id, hint),
		},
		"T26 no owner": {behind: pod("a", ownedBy("", "")), want: wantAddr(ownerless, id, hint)},
		"T26 a Job":    {behind: pod("a", ownedBy("Job", "j")), want: wantAddr(with(ownerless, "k8s_job", "j"), id, hint)},
		"T26 a CronJob": {
			behind: pod("a", ownedBy("Job", "j")), objects: owner("Job", "j", "CronJob", "nightly"), want: wantAddr(with(ownerless, "cronjob", "nightly"), id, hint),
		},
		"E19 weights off":          {behind: pod("a"), slice: east, zone: "east", want: wantAddr(with(podLabelsWanted, "zone", "east", "zone_locality", "local"), id, hint)},
		"E19 in the client's zone": {behind: pod("a"), slice: east, zone: "east", config: zoneWeights, want: wantAddr(with(podLabelsWanted, "zone", "east", "zone_locality", "local"), id, hint, weighing(100000))},
		"E19 in another zone":      {behind: pod("a"), slice: east, zone: "west", config: zoneWeights, want: wantAddr(with(podLabelsWanted, "zone", "east", "zone_locality", "remote"), id, hint)},
		"E19 the client's unknown": {behind: pod("a"), slice: east, config: zoneWeights, want: wantAddr(with(podLabelsWanted, "zone", "east", "zone_locality", "unknown"), id, hint)},
		"E19 its zone unknown":     {behind: pod("a"), zone: "east", config: zoneWeights, want: wantAddr(podLabelsWanted, id, hint)},
	})
}

package kinds

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// trimCase has an object as a user would write it, and the expected trimmed object.
type trimCase[T any] struct {
	name, yaml string
	want       *T
	// problems are the fields of the expected problems.
	problems []string
}

func runTrim[K any, T any](t *testing.T, trim func(kube.Scope, *K) (*T, []kube.Problem), cases []trimCase[T]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			obj := new(K)
			if err := yaml.UnmarshalStrict([]byte(c.yaml), obj); err != nil {
				t.Fatal(err)
			}
			for _, scope := range []kube.Scope{{Cluster: "east"}, kube.NewScope("east")} {
				got, problems := trim(scope, obj)
				if diff := cmp.Diff(c.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
					t.Errorf("trimmed (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.problems, fieldsOf(t, problems), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("fields with problems (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// fieldsOf returns the fields of the problems, after checking that each has a reason.
func fieldsOf(t *testing.T, problems []kube.Problem) []string {
	t.Helper()
	var all []string
	for _, p := range problems {
		if p.Reason == "" || strings.HasSuffix(p.Reason, ".") {
			t.Errorf("problem %+v is incomplete", p)
		}
		all = append(all, p.Field)
	}
	return all
}

func key1(kind catalog.WorkloadKind, namespace, name string) catalog.WorkloadKey {
	return catalog.WorkloadKey{Kind: kind, Cluster: "east", Namespace: namespace, Name: name}
}

func text(s string) *string { return &s }

func TestTrimPod(t *testing.T) {
	runTrim(t, trimPod, []trimCase[catalog.Workload]{
		{
			name: "bare", yaml: `{metadata: {name: x, namespace: ns, ownerReferences: [{kind: A, name: a}, {kind: B, name: b}]}}`,
			want: &catalog.Workload{Key: key1(catalog.Pod, "ns", "x")},
		},
		{
			name: "full", yaml: `
metadata:
  name: x
  namespace: ns
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {b: "2", a: "1"}
  annotations: {config.linkerd.io/opaque-ports: "", config.linkerd.io/skip-inbound-ports: "25,80-90"}
  ownerReferences: [{kind: ReplicaSet, name: web-1}]
spec:
  nodeName: node-1
  serviceAccountName: sa
  containers:
  - name: app
    ports: [{name: http, containerPort: 8080, hostPort: 80}, {containerPort: 53, protocol: UDP}, {containerPort: 5300, protocol: UDP, hostPort: 5300}]
    env: [{name: LINKERD2_PROXY_ADMIN_LISTEN_ADDR, value: wrong}]
  initContainers:
  - name: linkerd-proxy
    ports: [{name: admin, containerPort: 4191}]
    env:
    - {name: LINKERD2_PROXY_INBOUND_LISTEN_ADDR, value: "0.0.0.0:4143"}
    - {name: LINKERD2_PROXY_ADMIN_LISTEN_ADDR, value: "[::]:4191"}
    - {name: LINKERD2_PROXY_CONTROL_LISTEN_ADDR, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
`,
			want: &catalog.Workload{
				Key:         key1(catalog.Pod, "ns", "x"),
				Labels:      objectmeta.Labels{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
				Created:     time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
				OpaquePorts: new(catalog.PortSet),
				Ports: []catalog.WorkloadPort{
					{Name: "http", Port: 8080, HostPort: 80}, {Port: 53}, {Port: 5300}, {Name: "admin", Port: 4191},
				},
				Owner: catalog.OwnerRef{Kind: "ReplicaSet", Name: "web-1"},
				Node:  "node-1", ServiceAccount: "sa", SkipInboundPorts: &catalog.PortSet{{Low: 25, High: 25}, {Low: 80, High: 90}},
				Proxy: &catalog.ProxyListeners{Inbound: catalog.Listener{Port: 4143, Known: true}, Admin: catalog.Listener{Port: 4191, Known: true}},
			},
		},
		{
			name: "running", yaml: `
metadata: {name: x, namespace: ns, deletionTimestamp: "2026-01-02T03:04:05Z"}
spec: {containers: [{name: app, ports: [{containerPort: 80, hostPort: 8080}]}]}
status:
  phase: Running
  conditions: [{type: Initialized, status: "False"}, {type: Ready, status: "True"}]
  podIP: 10.0.0.9
  podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]
  hostIP: 192.0.2.9
  hostIPs: [{ip: 192.0.2.1}]
`,
			want: &catalog.Workload{
				Key: key1(catalog.Pod, "ns", "x"), Running: true, Terminating: true, Ready: true,
				Ports: []catalog.WorkloadPort{{Port: 80, HostPort: 8080}},
				IPs:   []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}, HostIPs: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
			},
		},
		{
			name: "failed, from an old API server", yaml: `
metadata: {name: x, namespace: ns}
spec: {containers: [{name: app, ports: [{containerPort: 80, hostPort: 8080}]}]}
status: {phase: Failed, conditions: [{type: Initialized, status: "True"}, {type: Ready, status: "False"}], podIP: 10.0.0.1, hostIP: 192.0.2.1}
`,
			want: &catalog.Workload{
				Key: key1(catalog.Pod, "ns", "x"), Finished: true, Ports: []catalog.WorkloadPort{{Port: 80, HostPort: 8080}},
				IPs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, HostIPs: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
			},
		},
		{
			name: "succeeded, without host ports", yaml: `{metadata: {name: x, namespace: ns}, status: {phase: Succeeded, hostIPs: [{ip: 192.0.2.1}]}}`,
			want: &catalog.Workload{Key: key1(catalog.Pod, "ns", "x"), Finished: true},
		},
		{
			name: "bad ports", yaml: `
metadata: {name: x, namespace: ns}
spec: {containers: [{name: linkerd-proxy, ports: [{containerPort: 0}, {containerPort: 70000}, {containerPort: 1, hostPort: -1}, {containerPort: 2, hostPort: 2, hostIP: node}, {containerPort: 3, hostPort: 3, hostIP: 192.168.0.1}]}]}
`,
			want: &catalog.Workload{
				Key: key1(catalog.Pod, "ns", "x"), Proxy: &catalog.ProxyListeners{},
				Ports: []catalog.WorkloadPort{{Port: 1}, {Port: 2}, {Port: 3, HostPort: 3, HostIP: netip.MustParseAddr("192.168.0.1")}},
			},
			problems: []string{
				`spec.containers["linkerd-proxy"].ports[0].containerPort`,
				`spec.containers["linkerd-proxy"].ports[1].containerPort`,
				`spec.containers["linkerd-proxy"].ports[2].hostPort`,
				`spec.containers["linkerd-proxy"].ports[3].hostIP`,
			},
		},
	})
}

// TestTrimExternalWorkloadOfAnOlderVersion shows that an ExternalWorkload written as v1alpha1, which arrives
// without meshTLS, isn't served in plaintext, and that the problem says what to do (peers P7).
func TestTrimExternalWorkloadOfAnOlderVersion(t *testing.T) {
	old := &workload.ExternalWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm"}, Spec: workload.ExternalWorkloadSpec{WorkloadIPs: []workload.WorkloadIP{{IP: "10.1.0.1"}}}}
	trimmed, problems := trimExternalWorkload(kube.NewScope("local"), old)
	if trimmed != nil || len(problems) != 1 || !strings.Contains(problems[0].Reason, "v1alpha1") {
		t.Errorf("%v is used, with the problems %v", trimmed, problems)
	}
}

// TestTrimOpaqueProtocol shows that the appProtocol linkerd.io/opaque makes a TCP port opaque (mesh finding
// 14).
func TestTrimOpaqueProtocol(t *testing.T) {
	runTrim(t, trimService, []trimCase[catalog.Service]{{
		name: "opaque", yaml: `
metadata: {name: x, namespace: ns}
spec: {ports: [{name: a, port: 80, appProtocol: linkerd.io/opaque}, {name: b, port: 81, appProtocol: http}, {name: c, port: 82, protocol: UDP, appProtocol: linkerd.io/opaque}]}
`,
		want: &catalog.Service{
			Key: catalog.ServiceKey{Cluster: "east", Namespace: "ns", Name: "x"}, OpaqueProtocol: catalog.PortSet{{Low: 80, High: 80}},
			Ports: []catalog.ServicePort{{Name: "a", Port: 80, Protocol: catalog.TCP}, {Name: "b", Port: 81, Protocol: catalog.TCP}, {Name: "c", Port: 82, Protocol: catalog.UDP}},
		},
	}})
}

func TestTrimService(t *testing.T) {
	key := catalog.ServiceKey{Cluster: "east", Namespace: "ns", Name: "x"}
	runTrim(t, trimService, []trimCase[catalog.Service]{
		{
			name: "plain", yaml: `
metadata: {name: x, namespace: ns}
spec: {internalTrafficPolicy: Cluster, ports: [{port: 80}, {name: dns, port: 53, protocol: UDP}, {port: 0}]}
`,
			want: &catalog.Service{Key: key, Ports: []catalog.ServicePort{
				{Port: 80, Protocol: catalog.TCP}, {Name: "dns", Port: 53, Protocol: catalog.UDP},
			}},
			problems: []string{"spec.ports[2].port"},
		},
		{
			name: "external name", yaml: `{metadata: {name: x, namespace: ns}, spec: {type: ExternalName, externalName: example.com}}`,
			want: &catalog.Service{Key: key, ExternalName: true},
		},
		{
			name: "remote and local", yaml: `
metadata:
  name: x
  namespace: ns
  labels: {multicluster.linkerd.io/remote-discovery: west, multicluster.linkerd.io/remote-service: ""}
spec: {internalTrafficPolicy: Local}
`,
			want: &catalog.Service{Key: key, LocalTraffic: true, RemoteCluster: text("west"), RemoteService: text("")},
		},
		{
			name: "federated without members", yaml: `{metadata: {name: x, namespace: ns, annotations: {multicluster.linkerd.io/remote-discovery: ""}}}`,
			want: &catalog.Service{Key: key, Federation: &catalog.Federation{}},
		},
		{
			name: "federated here", yaml: `{metadata: {name: x, namespace: ns, annotations: {multicluster.linkerd.io/local-discovery: "z"}}}`,
			want: &catalog.Service{Key: key, Federation: &catalog.Federation{Local: "z"}},
		},
		{
			name: "federated, bad fragments", yaml: `
metadata:
  name: x
  namespace: ns
  annotations: {multicluster.linkerd.io/remote-discovery: "a@west, b@north,c,a@west,d@e@f,@west,g@,h@local,"}
`,
			want: &catalog.Service{Key: key, Federation: &catalog.Federation{Remote: []catalog.RemoteMember{{Service: "a", Cluster: "west"}, {Service: "b", Cluster: "north"}}}},
			problems: []string{
				"metadata.annotations[multicluster.linkerd.io/remote-discovery][2]", "metadata.annotations[multicluster.linkerd.io/remote-discovery][4]",
				"metadata.annotations[multicluster.linkerd.io/remote-discovery][5]", "metadata.annotations[multicluster.linkerd.io/remote-discovery][6]",
				"metadata.annotations[multicluster.linkerd.io/remote-discovery][7]",
			},
		},
	})
}

func TestTrimNodesAndOwners(t *testing.T) {
	nodes := []trimCase[catalog.Node]{
		{name: "zone", yaml: `{metadata: {name: x, labels: {topology.kubernetes.io/zone: z}}}`, want: &catalog.Node{Cluster: "east", Name: "x", Zone: "z"}},
		{name: "no zone", yaml: `{metadata: {name: x}}`, want: &catalog.Node{Cluster: "east", Name: "x"}},
	}
	runTrim(t, partial(trimNode), nodes)
	runTrim(t, func(s kube.Scope, node *corev1.Node) (*catalog.Node, []kube.Problem) { return trimNode(s, node) }, nodes)
	job := catalog.OwnerRef{Kind: "Job", Name: "x"}
	runTrim(t, partial(trimOwner("Job")), []trimCase[catalog.Owner]{
		{
			name: "owned", yaml: `{metadata: {name: x, namespace: ns, ownerReferences: [{kind: CronJob, name: c}]}}`,
			want: &catalog.Owner{Cluster: "east", Namespace: "ns", OwnerRef: job, Parent: catalog.OwnerRef{Kind: "CronJob", Name: "c"}},
		},
		{
			name: "free", yaml: `{metadata: {name: x, namespace: ns}}`,
			want: &catalog.Owner{Cluster: "east", Namespace: "ns", OwnerRef: job},
		},
	})
}

func TestTrimExternalWorkload(t *testing.T) {
	runTrim(t, trimExternalWorkload, []trimCase[catalog.Workload]{
		{
			name: "full", yaml: `
metadata:
  name: x
  namespace: ns
  labels: {app: a}
  annotations: {config.linkerd.io/opaque-ports: "80"}
  ownerReferences: [{kind: Group, name: g}]
spec:
  meshTLS: {identity: "spiffe://a/b", serverName: b}
  ports: [{name: http, port: 80}, {port: 0}]
  workloadIPs: [{ip: 192.0.2.1}]
`,
			want: &catalog.Workload{
				Key:    key1(catalog.ExternalWorkload, "ns", "x"),
				Labels: objectmeta.Labels{{Key: "app", Value: "a"}}, OpaquePorts: &catalog.PortSet{{Low: 80, High: 80}},
				Ports:   []catalog.WorkloadPort{{Name: "http", Port: 80}},
				Owner:   catalog.OwnerRef{Kind: "Group", Name: "g"},
				IPs:     addrs("192.0.2.1"),
				MeshTLS: catalog.MeshTLS{Identity: catalog.Identity{Name: "spiffe://a/b", Form: catalog.URIIdentity}, ServerName: "b"},
			},
			problems: []string{"spec.ports[1].port"},
		},
		{name: "broken", yaml: `{metadata: {name: x, namespace: ns}, spec: {ports: 80}}`, problems: []string{"spec"}},
	})
}

func TestTrimServer(t *testing.T) {
	server := func(change func(*catalog.Server)) *catalog.Server {
		s := &catalog.Server{Cluster: "east", Namespace: "ns", Name: "x"}
		change(s)
		return s
	}
	runTrim(t, trimServer, []trimCase[catalog.Server]{
		{
			name: "number and selector", yaml: `
metadata: {name: x, namespace: ns}
spec:
  port: 80
  proxyProtocol: opaque
  podSelector:
    matchLabels: {b: "1", a: "2"}
    matchExpressions:
    - {key: c, operator: In, values: [v2, v1]}
    - {key: d, operator: NotIn, values: [w]}
    - {key: e, operator: Exists}
    - {key: f, operator: DoesNotExist}
`,
			want: server(func(s *catalog.Server) {
				s.PortNumber, s.Opaque = 80, true
				s.Pods = &catalog.Selector{Requirements: []catalog.Requirement{
					{Key: "a", Operator: catalog.In, Values: []string{"2"}},
					{Key: "b", Operator: catalog.In, Values: []string{"1"}},
					{Key: "c", Operator: catalog.In, Values: []string{"v1", "v2"}},
					{Key: "d", Operator: catalog.NotIn, Values: []string{"w"}},
					{Key: "e", Operator: catalog.Exists},
					{Key: "f", Operator: catalog.DoesNotExist},
				}}
			}),
		},
		{
			name: "name, everything, not opaque", yaml: `{metadata: {name: x, namespace: ns}, spec: {port: http, proxyProtocol: HTTP/1, externalWorkloadSelector: {}}}`,
			want: server(func(s *catalog.Server) { s.PortName, s.ExternalWorkloads = "http", &catalog.Selector{} }),
		},
		{
			name: "bad selectors and port", yaml: `
metadata: {name: x, namespace: ns}
spec:
  port: 0
  podSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}
  externalWorkloadSelector: {matchExpressions: [{key: a, operator: In}]}
`,
			want:     server(func(*catalog.Server) {}),
			problems: []string{"spec.podSelector", "spec.externalWorkloadSelector", "spec.port"},
		},
		{name: "broken", yaml: `{metadata: {name: x, namespace: ns}, spec: {port: [80]}}`, problems: []string{"spec"}},
	})
}

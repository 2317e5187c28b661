package watched

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// encode returns the message of an object.
func encode(t failer, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	message, err := object.Marshal()
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return message
}

// field appends a field that has a length.
func field(message []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(message, number, protowire.BytesType), value)
}

// join returns the message of a pod whose metadata, spec and status have the fields of a,
// followed by those of b.
func join(t failer, a, b *corev1.Pod) (message []byte) {
	t.Helper()
	message = field(message, 1, append(encode(t, &a.ObjectMeta), encode(t, &b.ObjectMeta)...))
	message = field(message, 2, append(encode(t, &a.Spec), encode(t, &b.Spec)...))
	return field(message, 3, append(encode(t, &a.Status), encode(t, &b.Status)...))
}

// decode returns the expected result of reader.
func decode(message []byte) (*Pod, []kube.Problem, error) {
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(message); err != nil {
		return nil, nil, err
	}
	trimmed, problems := trimPod(kube.Scope{}, pod)
	return trimmed, problems, nil
}

// reader is shared by all tests, so that each list of ports is read after other lists.
var reader podReader

// checkPod compares the results of reader and decode for a message, if both can read it. It returns both
// errors.
func checkPod(t failer, message []byte) (err, decodeErr error) {
	t.Helper()
	want, wantProblems, decodeErr := decode(message)
	read := bytes.Clone(message)
	got, problems, err := reader.read(kube.Scope{}, read)
	if !bytes.Equal(read, message) {
		t.Fatalf("the message was changed from\n%x to\n%x", message, read)
	}
	clear(read)
	switch {
	case err != nil && (!errors.Is(err, wire.ErrMalformed) || !strings.HasPrefix(err.Error(), "pod: ")):
		t.Fatalf("error %q, want %q of a pod", err, wire.ErrMalformed)
	case err == nil && decodeErr == nil && !slices.Equal(problems, wantProblems):
		t.Fatalf("problems %v, want %v", problems, wantProblems)
	case err == nil && decodeErr == nil && !reflect.DeepEqual(got, want):
		t.Fatalf("read %+v, want %+v (-want +got):\n%s", got, want, cmp.Diff(want, got))
	}
	return err, decodeErr
}

// checkReadable is checkPod for a message that can be read.
func checkReadable(t failer, message []byte) {
	t.Helper()
	if err, decodeErr := checkPod(t, message); err != nil || decodeErr != nil {
		t.Fatalf("error %v, and %v of the generated decoder", err, decodeErr)
	}
}

// somePods returns pods that together have all fields that are read.
func somePods() map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{"empty": {}, "meshed": meshedPod(1), "sidecar": meshedPod(2), "dual stack": meshedPod(3)}
	never := corev1.ContainerRestartPolicy("Never")
	pod := pods["sidecar"]
	pod.Spec.InitContainers = slices.Clone(append(pod.Spec.InitContainers, pod.Spec.Containers...))
	pod.Spec.InitContainers[1].RestartPolicy, pod.Spec.InitContainers[2].RestartPolicy = &never, &always
	pod.Spec.Hostname, pod.Spec.Subdomain = "host", "sub"

	pod = pods["dual stack"]
	pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: "fd00::1"}, corev1.PodIP{}, corev1.PodIP{IP: "::ffff:10.0.0.1"}, corev1.PodIP{IP: "a fifth"})

	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending} {
		pods[string(phase)] = &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	}
	pods["other first address"] = &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "fd00::1"}, {IP: "10.0.0.1"}}}}
	pods["one label"] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"k": ""}}}
	for name, at := range map[string]*metav1.Time{"deleted": {Time: deleted.Time}, "deleted at zero": {}, "deleted in 1970": {Time: metav1.Unix(0, 0).Time}} {
		pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: at}, Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False"}, {Type: corev1.PodReady, Status: "Odd", LastTransitionTime: *at}, {Type: corev1.PodReady, Status: "True"}},
		}}
	}
	ports := []corev1.ContainerPort{{ContainerPort: 1}, {Name: "negative", ContainerPort: -1, Protocol: corev1.ProtocolUDP}, {Name: "no protocol"}, {Name: "odd", Protocol: "Odd", HostPort: 7, HostIP: "1.2.3.4"}}
	pods["ports"] = &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: ports}, {}, {Ports: ports}}}}
	return pods
}

func TestReadPod(t *testing.T) {
	for name, pod := range somePods() {
		t.Run(name, func(t *testing.T) {
			checkReadable(t, encode(t, pod))
			for _, other := range somePods() {
				checkReadable(t, append(encode(t, pod), encode(t, other)...))
				checkReadable(t, join(t, pod, other))
			}
		})
	}
}

// All fields that trimPod uses are read from messages. No pod of the tests had all fields, so that reader and
// trimPod could differ unnoticed (M9).
func TestReadFullPod(t *testing.T) {
	checkReadable(t, encode(t, kubetest.FullPod()))
	for _, pod := range somePods() {
		checkReadable(t, join(t, kubetest.FullPod(), pod))
		checkReadable(t, join(t, pod, kubetest.FullPod()))
	}
}

// A truncated message is read or refused as by the generated decoder.
func TestReadPartOfPod(t *testing.T) {
	for name, pod := range somePods() {
		message := encode(t, pod)
		for n := range message {
			if err, decodeErr := checkPod(t, message[:n:n]); (err == nil) != (decodeErr == nil) {
				t.Fatalf("%d bytes of %s: error %v, and %v of the generated decoder", n, name, err, decodeErr)
			}
		}
	}
}

// oddMessages returns messages that no encoder makes of a corev1.Pod.
func oddMessages() map[string][]byte {
	twice := func(number protowire.Number, values ...string) (message []byte) {
		for _, v := range values {
			message = field(message, number, []byte(v))
		}
		return message
	}
	label := func(k, v string) []byte { return field(nil, 11, field(field(nil, 1, []byte(k)), 2, []byte(v))) }
	varint := func(message []byte, number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(message, number, protowire.VarintType), v)
	}
	spec := func(container []byte) []byte { return field(nil, 2, field(nil, 2, container)) }
	ready := func(fields ...[]byte) []byte {
		return field(nil, 3, field(nil, 2, slices.Concat(append(fields, twice(1, "Initialized", "Ready"))...)))
	}
	port := append(twice(1, "a", "b"), twice(4, "UDP", "TCP")...)
	return map[string][]byte{
		"names twice":           field(nil, 1, slices.Concat(twice(1, "a", ""), twice(3, "a", "b"), twice(5, "", "c"))),
		"labels apart":          field(nil, 1, slices.Concat(label("b", "1"), twice(1, "a"), label("a", "2"), label("b", "3"), twice(5, "b"), label("c", ""))),
		"labels after the name": field(nil, 1, slices.Concat(twice(1, "a"), label("b", "1"), label("a", "2"))),
		"port fields twice":     spec(field(nil, 6, varint(varint(port, 3, 1), 3, 2))),
		"number cut to 32 bits": spec(field(nil, 6, varint(port, 3, 1<<40|5))),
		"name of a port unset":  spec(field(nil, 6, twice(1, "a", ""))),
		"restart twice":         field(nil, 2, field(nil, 20, slices.Concat(twice(24, "Always", "Never"), field(nil, 6, port)))),
		"restart before ports":  field(nil, 2, field(nil, 20, slices.Concat(twice(24, "Never", "Always"), field(nil, 6, port)))),
		"IP twice":              field(nil, 3, append(twice(6, "a", "b"), field(nil, 12, twice(1, "a", "b"))...)),
		"condition twice":       ready(twice(2, "False", "True"), field(nil, 4, varint(nil, 1, 5)), field(nil, 4, varint(nil, 2, 6))),
		"time given, then not":  ready(field(nil, 4, varint(nil, 1, 5)), field(nil, 4, nil)),
		"time before 1970":      ready(field(nil, 4, varint(varint(nil, 1, 5), 1, 1<<64-1))),
		"unknown fields":        append(varint(nil, 99, 1), field(nil, 1, varint(twice(63, "a"), 64, 1))...),
	}
}

// Pods that are read in sequence share equal lists of ports, of any length. Values that were read before
// don't change.
func TestReadPodSharesPorts(t *testing.T) {
	exposing := func(names ...string) []byte {
		var c corev1.Container
		for _, name := range names {
			c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: 80})
		}
		sidecar := c
		sidecar.RestartPolicy = &always
		return encode(t, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}, InitContainers: []corev1.Container{sidecar}}})
	}
	many := []string{"a", "b", "c", "d", "e", "f"}
	for name, tt := range map[string]struct {
		first, second []string
		shared        bool
	}{
		"the same":        {many[:2], many[:2], true},
		"the same, many":  {many, many, true},
		"one more":        {many[:3], many[:4], false},
		"one less":        {many[:4], many[:3], false},
		"another":         {many[:2], many[1:3], false},
		"another at last": {many, append(slices.Clone(many[:5]), "g"), false},
	} {
		t.Run(name, func(t *testing.T) {
			var r podReader
			var pods [2]*Pod
			for i, names := range [][]string{tt.first, tt.second} {
				var err error
				if pods[i], _, err = r.read(kube.Scope{}, exposing(names...)); err != nil {
					t.Fatal(err)
				}
			}
			for i, names := range [][]string{tt.first, tt.second} {
				if want, _, err := decode(exposing(names...)); err != nil || !reflect.DeepEqual(pods[i], want) {
					t.Errorf("pod %d: read %+v, want %+v (%v)", i, pods[i], want, err)
				}
			}
			if &pods[0].Ports[0] == &pods[1].Ports[0] != tt.shared || &pods[0].SidecarPorts[0] == &pods[1].SidecarPorts[0] != tt.shared {
				t.Errorf("shared: %v, want %v", !tt.shared, tt.shared)
			}
		})
	}
}

func TestReadOddPod(t *testing.T) {
	for name, message := range oddMessages() {
		t.Run(name, func(t *testing.T) { checkReadable(t, message) })
	}
}

func TestReadMalformedPod(t *testing.T) {
	cutOff := []byte{0x0a, 0x01}
	for part, message := range map[string][]byte{
		"pod: the protobuf": cutOff,
		"pod: metadata: ":   field(nil, 1, cutOff),
		"pod: labels: ":     field(nil, 1, field(nil, 11, cutOff)),
		"pod: spec: ":       field(nil, 2, field(nil, 2, field(nil, 6, cutOff))),
		"pod: status: ":     field(nil, 3, field(nil, 2, cutOff)),
	} {
		_, _, err := reader.read(kube.Scope{}, message)
		if !errors.Is(err, wire.ErrMalformed) || !strings.HasPrefix(err.Error(), part) {
			t.Errorf("error %q, want one with %q", err, part)
		}
	}
}

// drawMessage returns the message of a pod with random values in the fields that are read.
func drawMessage(t *rapid.T) []byte {
	text := func(label string, usual ...string) string {
		return rapid.OneOf(rapid.SampledFrom(append(usual, "")), rapid.StringN(0, 300, -1)).Draw(t, label)
	}
	times := func(label string) metav1.Time { return metav1.Unix(rapid.Int64().Draw(t, label), 0) }
	many := func(label string) int { return rapid.IntRange(0, 6).Draw(t, label) }
	containers := func(label string) []corev1.Container {
		list := make([]corev1.Container, many(label))
		for i := range list {
			list[i] = corev1.Container{Name: text("container"), Image: text("image")}
			for range many("ports") {
				list[i].Ports = append(list[i].Ports, corev1.ContainerPort{
					Name: text("port", "http"), ContainerPort: rapid.Int32().Draw(t, "number"), Protocol: corev1.Protocol(text("protocol", "TCP", "UDP", "SCTP")),
				})
			}
			if restart := corev1.ContainerRestartPolicy(text("restart", "Always")); restart != "" {
				list[i].RestartPolicy = &restart
			}
		}
		return list
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = text("namespace"), text("name"), types.UID(text("uid"))
	pod.Labels = rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "labels")
	pod.Annotations = rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "annotations")
	if rapid.Bool().Draw(t, "deleted") {
		at := times("deleted at")
		pod.DeletionTimestamp = &at
	}
	pod.Spec.NodeName, pod.Spec.Hostname, pod.Spec.Subdomain = text("node"), text("hostname"), text("subdomain")
	pod.Spec.Containers, pod.Spec.InitContainers = containers("containers"), containers("init containers")
	pod.Status.Phase = corev1.PodPhase(text("phase", "Running", "Succeeded", "Failed"))
	pod.Status.PodIP = text("ip", "10.0.0.1")
	for range many("ips") {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: text("one of the ips", "10.0.0.1")})
	}
	for range many("conditions") {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(text("type", "Ready", "Initialized")), Status: corev1.ConditionStatus(text("status", "True", "False", "Unknown")),
			LastTransitionTime: times("since"), LastProbeTime: times("probe"),
		})
	}
	return encode(t, pod)
}

func TestReadAnyPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := drawMessage(t)
		checkReadable(t, message)
		checkReadable(t, append(message, drawMessage(t)...))
	})
}

func FuzzReadPod(f *testing.F) {
	for _, pod := range somePods() {
		pod.ManagedFields, pod.Annotations = nil, nil // short inputs are minimized faster
		f.Add(encode(f, pod))
	}
	for _, message := range oddMessages() {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) { _, _ = checkPod(t, message) })
}

func TestPodsAreRead(t *testing.T) {
	pod := meshedPod(1)
	want, _ := Pods().Trim(kube.Scope{}, pod)
	got, _, err := Pods().Read(kube.Scope{}, encode(t, pod))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// meshedPod returns a pod of a Deployment with a proxy, as the API server has it.
func meshedPod(i int) *corev1.Pod {
	set, at, ip := fmt.Sprintf("deployment-%d", i/10), metav1.Unix(1_700_000_000, 0), fmt.Sprintf("10.1.%d.%d", i>>8, i&255)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", set, i), GenerateName: set + "-5d4f8c7b9-", Namespace: "shop",
			UID: types.UID(fmt.Sprintf("%08d-85e0-4f3c-9d3c-3f1a7c6e5b21", i)), ResourceVersion: "100000", CreationTimestamp: at,
			Labels: map[string]string{
				"app.kubernetes.io/name": set, "pod-template-hash": "5d4f8c7b9", "version": "v1",
				"linkerd.io/control-plane-ns": "linkerd", "linkerd.io/workload-ns": "shop", "linkerd.io/proxy-deployment": set,
			},
			Annotations:     map[string]string{"linkerd.io/inject": "enabled", "linkerd.io/proxy-version": "edge-25.1.1", "checksum/config": strings.Repeat("0", 64)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set + "-5d4f8c7b9"}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: &at, FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 1500)}},
				{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &at, FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 900)}, Subresource: "status"},
			},
		},
		Spec: corev1.PodSpec{
			Volumes:        []corev1.Volume{{Name: "config"}, {Name: "kube-api-access"}, {Name: "linkerd-identity-end-entity"}},
			InitContainers: []corev1.Container{meshedContainer("linkerd-init")},
			Containers: []corev1.Container{
				meshedContainer("linkerd-proxy", corev1.ContainerPort{Name: "linkerd-proxy", ContainerPort: 4143}, corev1.ContainerPort{Name: "linkerd-admin", ContainerPort: 4191}),
				meshedContainer("app", corev1.ContainerPort{Name: "http", ContainerPort: 8080}, corev1.ContainerPort{Name: "metrics", ContainerPort: 9090}),
			},
			RestartPolicy: "Always", DNSPolicy: "ClusterFirst", ServiceAccountName: "default", DeprecatedServiceAccount: "default",
			NodeName: fmt.Sprintf("node-%d", i%100), SchedulerName: "default-scheduler", SecurityContext: &corev1.PodSecurityContext{},
			Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready"}, {Key: "node.kubernetes.io/unreachable"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "192.168.0.1", HostIPs: []corev1.HostIP{{IP: "192.168.0.1"}},
			PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &at, QOSClass: corev1.PodQOSBurstable,
		},
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:", ContainerID: "containerd://", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	return pod
}

// meshedContainer returns a container with TCP ports.
func meshedContainer(name string, ports ...corev1.ContainerPort) corev1.Container {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}, PeriodSeconds: 10}
	c := corev1.Container{
		Name: name, Image: "registry.example.org/team/" + name + ":v1.2.3", Args: []string{"--config=/etc/app/config.yaml", "--verbose"},
		Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu-central-1"}, {Name: "HTTP_PORT", Value: "8080"}, {Name: "POD_NAME"}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		}},
		VolumeMounts:  []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
		LivenessProbe: probe, ReadinessProbe: probe, TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent",
	}
	for _, p := range ports {
		p.Protocol = corev1.ProtocolTCP
		c.Ports = append(c.Ports, p)
	}
	return c
}

// benchMessages returns as many messages as fit into the caches of a processor.
func benchMessages(b *testing.B) [][]byte {
	messages := make([][]byte, 32)
	for i := range messages {
		messages[i] = encode(b, meshedPod(i))
	}
	return messages
}

func BenchmarkReadPod(b *testing.B) {
	messages := benchMessages(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, _, err := reader.read(kube.Scope{}, messages[i%len(messages)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalPod(b *testing.B) {
	messages := benchMessages(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, _, err := decode(messages[i%len(messages)]); err != nil {
			b.Fatal(err)
		}
	}
}

// Addresses that the API server refuses in slices are dropped. They prevented all writes for the Services of
// the pod (day2 B6).
func TestUnusableIPsAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		ip     string
		ips    []string
		wantIP string
		want   []string
		fields []string
	}{
		{"10.0.0.1", []string{"10.0.0.1", "fd00::1"}, "10.0.0.1", []string{"10.0.0.1", "fd00::1"}, nil},
		{"010.0.0.1", []string{"010.0.0.1"}, "010.0.0.1", []string{"010.0.0.1"}, nil},
		{"127.0.0.1", []string{"127.0.0.1"}, "", []string{}, []string{"status.podIP", "status.podIPs[0].ip"}},
		{"0.0.0.0", []string{"0.0.0.0", "fd00::1"}, "", []string{"fd00::1"}, []string{"status.podIP", "status.podIPs[0].ip"}},
		{"10.0.0.1", []string{"10.0.0.1", "fe80::1"}, "10.0.0.1", []string{"10.0.0.1"}, []string{"status.podIPs[1].ip"}},
		{"169.254.1.1", nil, "", nil, []string{"status.podIP"}},
		{"224.0.0.1", nil, "", nil, []string{"status.podIP"}},
		{"::ffff:127.0.0.1", nil, "", nil, []string{"status.podIP"}},
		{"nonsense", nil, "", nil, []string{"status.podIP"}},
		{"", nil, "", nil, nil},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: tt.ip}}
		for _, ip := range tt.ips {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		got, problems, err := reader.read(kube.Scope{}, encode(t, pod))
		if err != nil || got.IP != tt.wantIP || !slices.Equal(got.IPs, tt.want) {
			t.Errorf("of %s and %v are left %s and %v (%v), want %s and %v", tt.ip, tt.ips, got.IP, got.IPs, err, tt.wantIP, tt.want)
		}
		var fields []string
		for _, p := range problems {
			fields = append(fields, p.Field)
		}
		if !slices.Equal(fields, tt.fields) {
			t.Errorf("the problems of %s and %v are those of %v, want %v", tt.ip, tt.ips, fields, tt.fields)
		}
	}
}

// Each named port of a pod is compared with each named target of a Service, and an object has room for tens
// of thousands.
func TestPortsAreLimited(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}
	for i := range 2 * maxNamedPorts {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{Name: fmt.Sprint("p", i), ContainerPort: int32(i + 1)})
	}
	got, problems, err := reader.read(kube.Scope{}, encode(t, pod))
	if err != nil || len(got.Ports) != maxNamedPorts || cap(got.Ports) >= 2*maxNamedPorts {
		t.Errorf("%d ports are kept (%v), with room for %d, want %d", len(got.Ports), err, cap(got.Ports), maxNamedPorts)
	}
	if len(problems) != 1 || problems[0].Field != "spec.containers" {
		t.Errorf("problems are %v, want one about the containers", problems)
	}
}

package watched

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// The field numbers that are read, from the tags of the API types. Of a metav1.Time, which is encoded as a
// metav1.Timestamp, only the seconds are read.
var (
	podSpec   = wire.NumberOf[corev1.Pod]("spec")
	podStatus = wire.NumberOf[corev1.Pod]("status")

	specContainers     = wire.NumberOf[corev1.PodSpec]("containers")
	specNodeName       = wire.NumberOf[corev1.PodSpec]("nodeName")
	specHostname       = wire.NumberOf[corev1.PodSpec]("hostname")
	specSubdomain      = wire.NumberOf[corev1.PodSpec]("subdomain")
	specInitContainers = wire.NumberOf[corev1.PodSpec]("initContainers")

	portName          = wire.NumberOf[corev1.ContainerPort]("name")
	portContainerPort = wire.NumberOf[corev1.ContainerPort]("containerPort")
	portProtocol      = wire.NumberOf[corev1.ContainerPort]("protocol")

	statusPhase      = wire.NumberOf[corev1.PodStatus]("phase")
	statusConditions = wire.NumberOf[corev1.PodStatus]("conditions")
	statusPodIP      = wire.NumberOf[corev1.PodStatus]("podIP")
	statusPodIPs     = wire.NumberOf[corev1.PodStatus]("podIPs")

	conditionType               = wire.NumberOf[corev1.PodCondition]("type")
	conditionStatus             = wire.NumberOf[corev1.PodCondition]("status")
	conditionLastTransitionTime = wire.NumberOf[corev1.PodCondition]("lastTransitionTime")
)

// The fields that are read of each message. A container's ports are read; an init container's only after its
// restartPolicy, which makes it a sidecar.
var (
	podFields           = wire.FieldsOf[corev1.Pod]("metadata", "spec", "status")
	metadataFields      = wire.FieldsOf[metav1.ObjectMeta]("name", "namespace", "uid", "deletionTimestamp", "labels")
	specFields          = wire.FieldsOf[corev1.PodSpec]("containers", "nodeName", "hostname", "subdomain", "initContainers")
	containerFields     = wire.FieldsOf[corev1.Container]("ports")
	initContainerFields = wire.FieldsOf[corev1.Container]("restartPolicy")
	portFields          = wire.FieldsOf[corev1.ContainerPort]("name", "protocol", "containerPort")
	statusFields        = wire.FieldsOf[corev1.PodStatus]("phase", "conditions", "podIP", "podIPs")
	conditionFields     = wire.FieldsOf[corev1.PodCondition]("type", "status", "lastTransitionTime")
	podIPFields         = wire.FieldsOf[corev1.PodIP]("ip")
	timeFields          = wire.FieldsOf[metav1.Timestamp]("seconds")
)

// podReader reads pods. It is safe for concurrent use.
type podReader struct {
	ports, sidecarPorts lastList[ContainerPort]
}

// read returns what trimPod returns for the corev1.Pod in a message.
func (r *podReader) read(s kube.Scope, message []byte) (*Pod, []kube.Problem, error) {
	var m podMessage
	if err := m.read(s, message); err != nil {
		return nil, nil, fmt.Errorf("pod: %w", err)
	}
	labels, err := kinds.EncodedLabels(s, m.labels)
	if err != nil {
		return nil, nil, fmt.Errorf("pod: labels: %w", err)
	}
	p := m.pod(s)
	p.Labels = labels
	p.Ports, p.SidecarPorts = r.ports.slice(&m.ports), r.sidecarPorts.slice(&m.sidecarPorts)
	limited, problems := p.limited()
	return limited, problems, nil
}

// podMessage collects the fields of a Pod. Its bytes are parts of the message, and become strings only after
// the whole message is read, because a field may be repeated: then the last string or time wins, messages are
// merged and lists are appended.
type podMessage struct {
	name, namespace, uid []byte
	// labels are the labels fields, each with its tag.
	labels      []byte
	terminating bool

	node, hostname, subdomain []byte
	ports, sidecarPorts       list[ContainerPort]

	phase, ip  []byte
	ips        list[[]byte]
	hasReady   bool
	ready      []byte
	readySince time.Time
}

func (m *podMessage) read(s kube.Scope, message []byte) error {
	r := wire.Read(message)
	for r.Next(podFields) {
		switch r.Number {
		case wire.Metadata:
			if err := m.readMetadata(r.Bytes()); err != nil {
				return fmt.Errorf("metadata: %w", err)
			}
		case podSpec:
			if err := m.readSpec(s, r.Bytes()); err != nil {
				return fmt.Errorf("spec: %w", err)
			}
		case podStatus:
			if err := m.readStatus(r.Bytes()); err != nil {
				return fmt.Errorf("status: %w", err)
			}
		}
	}
	return r.Err()
}

func (m *podMessage) readMetadata(message []byte) error {
	begin, end := 0, 0 // of contiguous labels
	r := wire.Read(message)
	for r.Next(metadataFields) {
		switch r.Number {
		case wire.MetadataName:
			m.name = r.Bytes()
		case wire.MetadataNamespace:
			m.namespace = r.Bytes()
		case wire.MetadataUID:
			m.uid = r.Bytes()
		case wire.MetadataDeletionTimestamp:
			m.terminating = true
		case wire.MetadataLabels:
			if r.Start() != end {
				m.addLabels(message[begin:end:end])
				begin = r.Start()
			}
			end = r.End()
		}
	}
	m.addLabels(message[begin:end:end])
	return r.Err()
}

// addLabels appends label fields. The API server sends them contiguously, so that usually nothing is copied.
func (m *podMessage) addLabels(fields []byte) {
	if len(m.labels) == 0 {
		m.labels = fields
	} else {
		m.labels = append(m.labels, fields...)
	}
}

func (m *podMessage) readSpec(s kube.Scope, message []byte) error {
	r := wire.Read(message)
	for r.Next(specFields) {
		switch r.Number {
		case specContainers:
			if err := readPorts(s, &m.ports, r.Bytes()); err != nil {
				return err
			}
		case specInitContainers:
			if err := m.readInitContainer(s, r.Bytes()); err != nil {
				return err
			}
		case specNodeName:
			m.node = r.Bytes()
		case specHostname:
			m.hostname = r.Bytes()
		case specSubdomain:
			m.subdomain = r.Bytes()
		}
	}
	return r.Err()
}

// readInitContainer reads a corev1.Container. Its ports count only if it is a sidecar.
func (m *podMessage) readInitContainer(s kube.Scope, message []byte) error {
	var restart []byte
	r := wire.Read(message)
	for r.Next(initContainerFields) {
		restart = r.Bytes()
	}
	if err := r.Err(); err != nil || string(restart) != string(corev1.ContainerRestartPolicyAlways) {
		return err
	}
	return readPorts(s, &m.sidecarPorts, message)
}

func readPorts(s kube.Scope, ports *list[ContainerPort], message []byte) error {
	r := wire.Read(message)
	for r.Next(containerFields) {
		if err := readPort(s, ports, r.Bytes()); err != nil {
			return err
		}
	}
	return r.Err()
}

// readPort adds a corev1.ContainerPort, if it has a name.
func readPort(s kube.Scope, ports *list[ContainerPort], message []byte) error {
	var name, protocol []byte
	var number int32
	r := wire.Read(message)
	for r.Next(portFields) {
		switch r.Number {
		case portName:
			name = r.Bytes()
		case portProtocol:
			protocol = r.Bytes()
		case portContainerPort:
			number = int32(r.Varint)
		}
	}
	if len(name) > 0 {
		ports.add(ContainerPort{s.InternBytes(name), number, oneOf(s, protocol, corev1.ProtocolTCP, corev1.ProtocolUDP)})
	}
	return r.Err()
}

func (m *podMessage) readStatus(message []byte) error {
	r := wire.Read(message)
	for r.Next(statusFields) {
		switch r.Number {
		case statusPhase:
			m.phase = r.Bytes()
		case statusConditions:
			if err := m.readCondition(r.Bytes()); err != nil {
				return err
			}
		case statusPodIP:
			m.ip = r.Bytes()
		case statusPodIPs:
			if err := m.readPodIP(r.Bytes()); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

// readCondition reads a corev1.PodCondition. The first one of type Ready is used.
func (m *podMessage) readCondition(message []byte) (err error) {
	if m.hasReady {
		return nil
	}
	var kind, status, since []byte
	r := wire.Read(message)
	for r.Next(conditionFields) {
		switch r.Number {
		case conditionType:
			kind = r.Bytes()
		case conditionStatus:
			status = r.Bytes()
		case conditionLastTransitionTime:
			since = r.Bytes()
		}
	}
	if err := r.Err(); err != nil || string(kind) != string(corev1.PodReady) {
		return err
	}
	m.hasReady, m.ready = true, status
	m.readySince, err = readTime(since)
	return err
}

// readTime returns the time in a metav1.Time. An empty message is the zero time.
func readTime(message []byte) (time.Time, error) {
	if len(message) == 0 {
		return time.Time{}, nil
	}
	var seconds int64
	r := wire.Read(message)
	for r.Next(timeFields) {
		seconds = int64(r.Varint)
	}
	return time.Unix(seconds, 0), r.Err()
}

func (m *podMessage) readPodIP(message []byte) error {
	var ip []byte
	r := wire.Read(message)
	for r.Next(podIPFields) {
		ip = r.Bytes()
	}
	m.ips.add(ip)
	return r.Err()
}

// podWithIP is a pod with the single IP that nearly all pods have. One allocation is cheaper, and keeps both
// in the processor's caches.
type podWithIP struct {
	Pod
	ip [1]string
}

// pod returns the Pod without labels and ports.
func (m *podMessage) pod(s kube.Scope) *Pod {
	p := &podWithIP{}
	p.Pod = Pod{
		Namespace: interned(s, m.namespace),
		Node:      interned(s, m.node), Hostname: interned(s, m.hostname), Subdomain: interned(s, m.subdomain),
		Finished:    string(m.phase) == string(corev1.PodSucceeded) || string(m.phase) == string(corev1.PodFailed),
		Terminating: m.terminating,
		Ready:       oneOf(s, m.ready, corev1.ConditionTrue, corev1.ConditionFalse), ReadySince: m.readySince,
	}
	if n := m.ips.len(); n == 1 {
		p.IPs = p.ip[:]
	} else if n > 1 {
		p.IPs = make([]string, n)
	}
	m.copyStrings(&p.Pod)
	return &p.Pod
}

// copyStrings sets the strings that no other pod has, and as many IPs as there is room for. They are parts of
// one string, for a single allocation.
func (m *podMessage) copyStrings(p *Pod) {
	var all strings.Builder
	all.Grow(len(m.name) + len(m.uid) + len(m.ip))
	all.Write(m.name)
	all.Write(m.uid)
	all.Write(m.ip)
	uid, ip := len(m.name), len(m.name)+len(m.uid)
	p.Name, p.UID, p.IP = all.String()[:uid], all.String()[uid:ip], all.String()[ip:]
	for i := range p.IPs {
		p.IPs[i] = p.IP
		if ip := m.ips.at(i); string(ip) != p.IP {
			p.IPs[i] = string(ip)
		}
	}
}

// interned returns a string that other pods have, too.
func interned(s kube.Scope, text []byte) string {
	if len(text) == 0 {
		return ""
	}
	return s.InternBytes(text)
}

// oneOf returns a string that is nearly always one of some constants, which need not be interned.
func oneOf[T ~string](s kube.Scope, text []byte, constants ...T) T {
	for _, c := range constants {
		if string(text) == string(c) {
			return c
		}
	}
	return T(interned(s, text))
}

// list is a list that is nearly always short, and allocates nothing while it is.
type list[T any] struct {
	first [4]T
	n     int
	rest  []T
}

func (l *list[T]) add(v T) {
	if l.n == len(l.first) {
		l.rest = append(l.rest, v)
		return
	}
	l.first[l.n] = v
	l.n++
}

func (l *list[T]) len() int { return l.n + len(l.rest) }

func (l *list[T]) at(i int) T {
	if i < l.n {
		return l.first[i]
	}
	return l.rest[i-l.n]
}

// slice returns the list with exactly its size; nil if it is empty.
func (l *list[T]) slice() []T {
	if l.n == 0 {
		return nil
	}
	all := make([]T, l.len())
	copy(all[copy(all, l.first[:l.n]):], l.rest)
	return all
}

// lastList is the last list that was read. The API server lists the pods of a workload one after the other,
// and all have the same ports.
type lastList[T comparable] struct{ last atomic.Pointer[[]T] }

// slice returns a list that shares memory with equal ones; nil if it is empty.
func (s *lastList[T]) slice(l *list[T]) []T {
	if l.n == 0 {
		return nil
	}
	if last := s.last.Load(); last != nil && same(l, *last) {
		return *last
	}
	all := l.slice()
	s.last.Store(&all)
	return all
}

func same[T comparable](l *list[T], all []T) bool {
	return l.len() == len(all) && slices.Equal(l.first[:l.n], all[:l.n]) && slices.Equal(l.rest, all[l.n:])
}

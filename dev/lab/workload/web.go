package workload

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Numbers of the Services with pods.
const (
	webs  = 12 // web-N: ClusterIP
	heads = 4  // head-N: headless, whose pods keep their names
)

func webName(i int) string  { return fmt.Sprint("web-", i) }
func headName(i int) string { return fmt.Sprint("head-", i) }

// webSizes are the initial numbers of pods of web-N.
var webSizes = [webs]int{3, 0, 1, 2, 30, 8, 5, 13, 3, 2, 1, 10}

func (s *simulation) beginWeb() {
	for i := range webs {
		s.createWeb(i)
		for range webSizes[i] {
			s.startPod(webName(i))
		}
	}
	for i := range heads {
		service := s.newService(headName(i), map[string]string{"app": headName(i)})
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Annotations = map[string]string{hostnameAnnotation: headName(i) + "." + s.domain()}
		s.create(service)
		for number := range i {
			s.startMember(headName(i), number)
		}
	}
}

func (s *simulation) createWeb(i int) {
	if s.has("Service " + webName(i)) {
		return
	}
	service := s.newService(webName(i), map[string]string{"app": webName(i)})
	if i%2 == 0 {
		service.Spec.Ports[0].TargetPort = intstr.FromInt32(8080)
	}
	if i%4 == 3 {
		service.Spec.Ports = append(service.Spec.Ports, adminPort())
	}
	s.create(service)
}

func adminPort() corev1.ServicePort {
	return corev1.ServicePort{Name: "admin", Port: 90, TargetPort: intstr.FromString("admin"), Protocol: corev1.ProtocolTCP}
}

func (s *simulation) webActions() []weighted {
	return []weighted{
		{18, s.scale},
		{22, func() { s.flip(s.anyWeb()) }},
		{5, s.roll},
		{4, s.changePort},
		{3, s.changeSelector},
		{3, s.recreateWeb},
		{5, s.relabel},
		{3, s.changeOpaque},
		{2, s.publishNotReady},
		{5, s.restartMember},
		{4, func() { s.flip(headName(s.rng.IntN(heads))) }},
	}
}

func (s *simulation) anyWeb() string { return webName(s.rng.IntN(webs)) }

// web returns a random web-N, or nil if that doesn't exist.
func (s *simulation) web() *corev1.Service { return find[*corev1.Service](s, "Service "+s.anyWeb()) }

// scale changes the number of pods step by step.
func (s *simulation) scale() {
	const atOnce = 12
	app := s.anyWeb()
	change := pick(s, 0, 0, 1, 2, 3, 3, 5, 8, 13, 20, mostPods) - len(s.pods[app])
	for i := range min(change, atOnce) {
		s.after(time.Duration(i)*s.between(5*time.Millisecond, 120*time.Millisecond), func() { s.startPod(app) })
	}
	for i := range min(-change, atOnce) {
		pod := s.pods[app][i]
		s.after(time.Duration(i)*s.between(5*time.Millisecond, 120*time.Millisecond), func() { s.stopPod(app, pod) })
	}
}

// roll replaces the pods of an app, each after a new one was started.
func (s *simulation) roll() {
	app := s.anyWeb()
	step := s.between(50*time.Millisecond, 400*time.Millisecond)
	for i, pod := range s.pods[app][:min(len(s.pods[app]), 10)] {
		s.after(time.Duration(i)*step, func() { s.startPod(app) })
		s.after(time.Duration(i)*step+s.between(400*time.Millisecond, 1200*time.Millisecond), func() { s.stopPod(app, pod) })
	}
}

// changePort switches the target of a port between number and name, or adds or removes the second port.
func (s *simulation) changePort() {
	service := s.web()
	if service == nil {
		return
	}
	switch ports := service.Spec.Ports; {
	case s.chance(60) && ports[0].TargetPort.Type == intstr.String:
		ports[0].TargetPort = intstr.FromInt32(8080)
	case s.chance(60):
		ports[0].TargetPort = intstr.FromString("http")
	case len(ports) == 1:
		service.Spec.Ports = append(ports, adminPort())
	default:
		service.Spec.Ports = ports[:1]
	}
	s.set(service, "/spec/ports")
}

// changeSelector makes a Service select all pods of its app or those of one track or, for a while, those of
// its neighbour.
func (s *simulation) changeSelector() {
	service := s.web()
	if service == nil {
		return
	}
	own := map[string]string{"app": service.Name}
	if len(service.Spec.Selector) == 1 && service.Spec.Selector["app"] == service.Name {
		service.Spec.Selector = pick(s, map[string]string{"app": service.Name, "track": "stable"}, map[string]string{"app": s.anyWeb()})
		s.after(s.between(2*time.Second, 10*time.Second), func() { s.selectOwn(service, own) })
	} else {
		service.Spec.Selector = own
	}
	s.set(service, "/spec/selector")
}

func (s *simulation) selectOwn(service *corev1.Service, own map[string]string) {
	if find[*corev1.Service](s, name(service)) == service {
		service.Spec.Selector = own
		s.set(service, "/spec/selector")
	}
}

// recreateWeb deletes a Service and recreates it later with another UID.
func (s *simulation) recreateWeb() {
	i := s.rng.IntN(webs)
	service := find[*corev1.Service](s, "Service "+webName(i))
	if service == nil {
		return
	}
	s.remove(service)
	s.after(s.between(300*time.Millisecond, 6*time.Second), func() { s.createWeb(i) })
}

// relabel removes a pod from the Services that select it by track or app, or adds it again.
func (s *simulation) relabel() {
	app := s.anyWeb()
	if len(s.pods[app]) == 0 {
		return
	}
	pod := find[*corev1.Pod](s, "Pod "+pick(s, s.pods[app]...))
	if s.chance(30) {
		s.relabelAs(pod, "quarantine", "stable")
		s.after(s.between(time.Second, 6*time.Second), func() { s.relabelAs(pod, app, "stable") })
		return
	}
	s.relabelAs(pod, app, pick(s, "stable", "canary"))
}

func (s *simulation) relabelAs(pod *corev1.Pod, app, track string) {
	if !s.isThere(pod) {
		return
	}
	labels := maps.Clone(pod.Labels)
	labels["app"], labels["track"] = app, track
	pod.Labels = labels
	s.set(pod, "/metadata/labels")
}

// changeOpaque changes the opaque ports of a Service.
func (s *simulation) changeOpaque() {
	service := s.web()
	if service == nil {
		return
	}
	ports := pick(s, "80", "8080", "90")
	if service.Annotations[opaqueAnnotation] != "" {
		ports = ""
	}
	annotate(service, opaqueAnnotation, ports)
	s.set(service, "/metadata/annotations")
}

func (s *simulation) publishNotReady() {
	if service := s.web(); service != nil {
		service.Spec.PublishNotReadyAddresses = !service.Spec.PublishNotReadyAddresses
		s.set(service, "/spec/publishNotReadyAddresses")
	}
}

// restartMember deletes a pod of a headless Service, or starts the next one of this name.
func (s *simulation) restartMember() {
	app := headName(s.rng.IntN(heads))
	number := s.rng.IntN(4)
	member := fmt.Sprint(app, "-", number)
	s.stopPod(app, member)
	s.after(s.between(100*time.Millisecond, 5*time.Second), func() { s.startMember(app, number) })
}

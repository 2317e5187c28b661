package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/controllers/endpointslices"
	"github.com/signpostd/signpost/controllers/externalworkloads"
	"github.com/signpostd/signpost/controllers/mirroring"
)

// The managers of slices.
const (
	ofPods      = endpointslices.ManagedBy
	ofEndpoints = mirroring.ManagedBy
	ofWorkloads = externalworkloads.ManagedBy
)

// showEndpoints formats Endpoints as a line: "10.0.0.1 !10.0.0.2 : 8080" has one ready and one unready
// address. Ports are formatted by showPort. Subsets are separated by " | ".
func showEndpoints(ep *corev1.Endpoints) string {
	var list []string
	for i := range ep.Subsets {
		list = append(list, showSubset(&ep.Subsets[i]))
	}
	slices.Sort(list)
	return strings.Join(list, " | ")
}

func showSubset(s *corev1.EndpointSubset) string {
	var words []string
	for _, a := range s.Addresses {
		words = append(words, withHostname(a.IP, a.Hostname))
	}
	for _, a := range s.NotReadyAddresses {
		words = append(words, withHostname("!"+a.IP, a.Hostname))
	}
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, showPort(p.Name, p.Port, p.Protocol))
	}
	return showGroup(words, ports)
}

func withHostname(address, hostname string) string {
	if hostname != "" {
		return address + "#" + hostname
	}
	return address
}

// showPort formats a port as "8080", "http=8080", or "dns=53/UDP".
func showPort(name string, number int32, protocol corev1.Protocol) string {
	text := fmt.Sprint(number)
	if name != "" {
		text = name + "=" + text
	}
	if protocol != corev1.ProtocolTCP {
		text += "/" + string(protocol)
	}
	return text
}

func showGroup(words, ports []string) string {
	slices.Sort(words)
	slices.Sort(ports)
	return strings.TrimSpace(strings.Join(words, " ") + " : " + strings.Join(ports, " "))
}

// showSlices formats slices as showEndpoints formats subsets. "~" precedes the address of a terminating
// endpoint; "@" and the zone follow the address, then ">" and the hints. The line of an IPv6 slice starts
// with "IPv6".
func showSlices(list []discoveryv1.EndpointSlice) string {
	var texts []string
	for i := range list {
		text := showSlice(&list[i])
		if list[i].AddressType != discoveryv1.AddressTypeIPv4 {
			text = string(list[i].AddressType) + " " + text
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(texts, " | ")
}

func showSlice(s *discoveryv1.EndpointSlice) string {
	var words []string
	for i := range s.Endpoints {
		words = append(words, showEndpoint(&s.Endpoints[i]))
	}
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, showPort(value(p.Name), value(p.Port), cmp.Or(value(p.Protocol), corev1.ProtocolTCP)))
	}
	return showGroup(words, ports)
}

func showEndpoint(e *discoveryv1.Endpoint) string {
	text := strings.Join(e.Addresses, ",")
	c := e.Conditions
	if value(c.Terminating) {
		text = "~" + text
	}
	if !value(c.Ready) && !value(c.Serving) {
		text = "!" + text
	}
	// Serving follows from the others unless the Service wants all pods to be ready.
	if c.Serving != nil && *c.Serving != (value(c.Ready) || value(c.Terminating) && !strings.HasPrefix(text, "!")) {
		text += fmt.Sprintf("(ready=%t serving=%t)", value(c.Ready), *c.Serving)
	}
	text = withHostname(text, value(e.Hostname))
	if e.Zone != nil {
		text += "@" + *e.Zone
	}
	if e.Hints != nil {
		for _, z := range e.Hints.ForZones {
			text += ">" + z.Name
		}
		for _, n := range e.Hints.ForNodes {
			text += ">" + n.Name
		}
	}
	return text
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// absent stands for an object that doesn't exist.
const absent = "absent"

func (s *fixture) shownEndpoints(name string) string {
	s.Helper()
	ep, err := s.client.CoreV1().Endpoints(s.ns).Get(s.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return absent
	}
	s.must(err)
	return showEndpoints(ep)
}

func (s *fixture) shownSlices(service, manager string) string {
	s.Helper()
	list := s.slicesOf(service, manager)
	if len(list) == 0 {
		return absent
	}
	return showSlices(list)
}

// wantEndpoints waits until showEndpoints returns this text.
func (s *fixture) wantEndpoints(name, want string) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		if got := s.shownEndpoints(name); got != want {
			return fmt.Errorf("Endpoints %s are %q, want %q", name, got, want)
		}
		return nil
	})
}

// wantSlices waits until showSlices returns this text for the slices of a Service with a manager.
func (s *fixture) wantSlices(service, manager, want string) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		if got := s.shownSlices(service, manager); got != want {
			return fmt.Errorf("slices of %s by %s are\n%q, want\n%q", service, manager, got, want)
		}
		return nil
	})
}

// wantSizes waits until the slices have these numbers of endpoints, in descending order.
func (s *fixture) wantSizes(service, manager string, want ...int) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		var got []int
		for _, slice := range s.slicesOf(service, manager) {
			got = append(got, len(slice.Endpoints))
		}
		slices.SortFunc(got, func(a, b int) int { return b - a })
		if !slices.Equal(got, want) {
			return fmt.Errorf("slices of %s have %d endpoints, want %d", service, got, want)
		}
		return nil
	})
}

// wantEvent waits for an Event on an object.
func (s *fixture) wantEvent(kind, name, reason string) *corev1.Event {
	s.Helper()
	var found *corev1.Event
	s.eventually(func() error {
		s.Helper()
		all := s.events(name)
		for i, e := range all {
			if e.InvolvedObject.Kind == kind && e.Reason == reason {
				found = &all[i]
				return nil
			}
		}
		return fmt.Errorf("there is no Event %s on %s %s, only %d others", reason, kind, name, len(all))
	})
	return found
}

// events returns the Events on objects of a name.
func (s *fixture) events(name string) []corev1.Event {
	s.Helper()
	return must[*corev1.EventList](s)(s.client.CoreV1().Events(s.ns).List(s.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + name,
	})).Items
}

// version identifies one version of an object.
type version struct {
	name, version string
	uid           types.UID
}

func versionOf(o metav1.Object) version {
	return version{o.GetName(), o.GetResourceVersion(), o.GetUID()}
}

// versions returns the versions of the Endpoints and all slices of a Service.
func (s *fixture) versions(service string) []version {
	s.Helper()
	var list []version
	ep, err := s.client.CoreV1().Endpoints(s.ns).Get(s.Context(), service, metav1.GetOptions{})
	if err == nil {
		list = append(list, versionOf(ep))
	} else if !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	for _, manager := range []string{ofPods, ofEndpoints, ofWorkloads} {
		for _, slice := range s.slicesOf(service, manager) {
			list = append(list, versionOf(&slice))
		}
	}
	return list
}

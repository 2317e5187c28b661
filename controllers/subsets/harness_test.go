package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// read parses subsets such as "10.0.0.1/uid !10.0.0.2 ; 80 web:90/TCP": the addresses, unready ones after a
// "!", then the ports. After an address, "/uid" and then "#name" describe its target; without "/" it has no
// target.
func read(texts ...string) []corev1.EndpointSubset {
	var list []corev1.EndpointSubset
	for _, text := range texts {
		addresses, ports, _ := strings.Cut(text, ";")
		var s corev1.EndpointSubset
		for _, a := range strings.Fields(addresses) {
			if a, ok := strings.CutPrefix(a, "!"); ok {
				s.NotReadyAddresses = append(s.NotReadyAddresses, readAddress(a))
			} else {
				s.Addresses = append(s.Addresses, readAddress(a))
			}
		}
		for _, p := range strings.Fields(ports) {
			s.Ports = append(s.Ports, readPort(p))
		}
		list = append(list, s)
	}
	return list
}

func readAddress(text string) corev1.EndpointAddress {
	ip, target, ok := strings.Cut(text, "/")
	a := corev1.EndpointAddress{IP: ip}
	if ok {
		uid, name, _ := strings.Cut(target, "#")
		a.TargetRef = &corev1.ObjectReference{Name: name, UID: types.UID(uid)}
	}
	return a
}

func readPort(text string) corev1.EndpointPort {
	text, protocol, _ := strings.Cut(text, "/")
	name, number, ok := strings.Cut(text, ":")
	if !ok {
		name, number = "", name
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return corev1.EndpointPort{Name: name, Port: int32(n), Protocol: corev1.Protocol(protocol)}
}

// show formats subsets for read.
func show(list []corev1.EndpointSubset) []string {
	var texts []string
	for _, s := range list {
		var words []string
		for _, a := range s.Addresses {
			words = append(words, showAddress(a))
		}
		for _, a := range s.NotReadyAddresses {
			words = append(words, "!"+showAddress(a))
		}
		words = append(words, ";")
		for _, p := range s.Ports {
			words = append(words, showPort(p))
		}
		texts = append(texts, strings.Join(words, " "))
	}
	return texts
}

func showAddress(a corev1.EndpointAddress) string {
	switch {
	case a.TargetRef == nil:
		return a.IP
	case a.TargetRef.Name == "":
		return fmt.Sprintf("%s/%s", a.IP, a.TargetRef.UID)
	default:
		return fmt.Sprintf("%s/%s#%s", a.IP, a.TargetRef.UID, a.TargetRef.Name)
	}
}

func showPort(p corev1.EndpointPort) string {
	text := strconv.Itoa(int(p.Port))
	if p.Name != "" {
		text = p.Name + ":" + text
	}
	if p.Protocol != "" {
		text += "/" + string(p.Protocol)
	}
	return text
}

func copied(list []corev1.EndpointSubset) []corev1.EndpointSubset {
	ep := corev1.Endpoints{Subsets: list}
	return ep.DeepCopy().Subsets
}

func pointer[T any](v T) *T { return &v }

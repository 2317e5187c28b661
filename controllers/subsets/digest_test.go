package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func withAppProtocol(p corev1.EndpointPort, name string) corev1.EndpointPort {
	p.AppProtocol = &name
	return p
}

// The vectors of §6.3. New fields of the types change them, and with them the order in which the Kubernetes
// controller writes.
var digestVectors = map[string]struct {
	value any
	want  string // "…" stands for anything
}{
	"UDP":                      {readPort("8080/UDP"), "59aa40b466adb81c6e00232f1f0ba361"},
	"TCP":                      {readPort("8080/TCP"), "b09ff368df0fc81442c7b7a3ab2dbca5"},
	"port0":                    {readPort("port0:8080/TCP"), "862194fe…3274e8"},
	"port1":                    {readPort("port1:8088/TCP"), "78f99ce3…6f98b5"},
	"port-1337":                {readPort("port-1337:1337/TCP"), "5d508f35…b48745"},
	"port-1338":                {readPort("port-1338:1338/TCP"), "a131a8e6…32da63"},
	"111":                      {readPort("111"), "043501a1…953b2d"},
	"222":                      {readPort("222"), "5af2526c…c66ddc"},
	"333":                      {readPort("333"), "f26257f7…6296af"},
	"a":                        {readPort("a:8675"), "1e1353c2…72f64f"},
	"b":                        {readPort("b:309"), "3cb03d23…42b5a4"},
	"application protocol":     {withAppProtocol(readPort("http:80/TCP"), "http"), "d076f4fe2056195b8bf843571ce8e176"},
	"subset with 111":          {read("1.2.3.4 ; 111")[0], "0237c533…20b958"},
	"subset with 222":          {read("5.6.7.8 ; 222")[0], "675404f2…acec1"},
	"subset without any ports": {read("1.2.3.4 ;")[0], "d847665f363d652e8eefb5704ac6c6d5"},
}

func TestDigestVectors(t *testing.T) {
	for name, tc := range digestVectors {
		t.Run(name, func(t *testing.T) {
			got := fmt.Sprintf("%x", digestOf(tc.value))
			head, tail, _ := strings.Cut(tc.want, "…")
			if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// The digest depends on the content alone (PH-11).
func TestDigestDependsOnContentAlone(t *testing.T) {
	list := read("10.0.0.1/uid-1#a !10.0.0.2 ; web:80/TCP 81")
	list[0].Addresses[0].NodeName = pointer("node-1")
	first := digestOf(list[0])
	for range 3 {
		if got := digestOf(copied(list)[0]); got != first {
			t.Errorf("got %x for a copy, want %x", got, first)
		}
	}
	list[0].Addresses[0].NodeName = pointer("node-2")
	if digestOf(list[0]) == first {
		t.Error("another node has the same digest")
	}
}

package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

type packCase struct{ subsets, want []string }

var packCases = map[string]packCase{
	"EP-01": {
		[]string{"10.10.1.1 10.10.2.2 ; a:8675 b:309"},
		[]string{"10.10.1.1 10.10.2.2 ; a:8675 b:309"},
	},
	"EP-11 UDP before TCP": {[]string{"1.2.3.4 ; 8080/TCP 8080/UDP"}, []string{"1.2.3.4 ; 8080/UDP 8080/TCP"}},
	"PK-01":                {[]string{";"}, nil},
	"PK-02":                {[]string{"; 111"}, nil},
	"PK-03":                {[]string{"1.2.3.4 ;"}, []string{"1.2.3.4 ;"}},
	"PK-04":                {[]string{"!1.2.3.4 ;"}, []string{"!1.2.3.4 ;"}},
	"PK-05":                {[]string{"1.2.3.4 ; 111"}, []string{"1.2.3.4 ; 111"}},
	"PK-06":                {[]string{"beef::1:2:3:4 ; 111"}, []string{"beef::1:2:3:4 ; 111"}},
	"PK-07":                {[]string{"!1.2.3.4 ; 111"}, []string{"!1.2.3.4 ; 111"}},
	"PK-08":                {[]string{"1.2.3.4/uid-1 ; 111"}, []string{"1.2.3.4/uid-1 ; 111"}},
	"PK-09":                {[]string{"!1.2.3.4/uid-1 ; 111"}, []string{"!1.2.3.4/uid-1 ; 111"}},
	"PK-10":                {[]string{"1.2.3.4/ ; 111"}, []string{"1.2.3.4/ ; 111"}},
	"PK-11":                {[]string{"!1.2.3.4/ ; 111"}, []string{"!1.2.3.4/ ; 111"}},
	"PK-12":                {[]string{"1.2.3.4 5.6.7.8 ; 111"}, []string{"1.2.3.4 5.6.7.8 ; 111"}},
	"PK-13":                {[]string{"1.2.3.4 !5.6.7.8 ; 111"}, []string{"1.2.3.4 !5.6.7.8 ; 111"}},
	"PK-14":                {[]string{"1.2.3.4 !1.2.3.4 ; 111"}, []string{"!1.2.3.4 ; 111"}},
	"PK-15":                {[]string{"1.2.3.4 ; 222 111"}, []string{"1.2.3.4 ; 111 222"}},
	"PK-16":                {[]string{"1.2.3.4 1.2.3.4 ; 111"}, []string{"1.2.3.4 ; 111"}},
	"PK-17":                {[]string{"beef::1 beef::1 ; 111"}, []string{"beef::1 ; 111"}},
	"PK-18":                {[]string{"1.2.3.4/#first 1.2.3.4/#second ; 111"}, []string{"1.2.3.4/#first ; 111"}},
	"PK-19":                {[]string{"1.2.3.4/#first !1.2.3.4/#second ; 111"}, []string{"!1.2.3.4/#first ; 111"}},
	"PK-20":                {[]string{"1.2.3.4 ; 111 111"}, []string{"1.2.3.4 ; 111"}},
	"PK-21":                {[]string{"1.2.3.4 ; 111", "1.2.3.4 ; 111"}, []string{"1.2.3.4 ; 111"}},
	"PK-22":                {[]string{"1.2.3.4 ; 111", "!1.2.3.4 ; 111"}, []string{"!1.2.3.4 ; 111"}},
	"PK-23":                {[]string{"1.2.3.4 ; 111", "1.2.3.4 ; 222"}, []string{"1.2.3.4 ; 111 222"}},
	"PK-24":                {[]string{"1.2.3.4/uid-1 ; 111", "1.2.3.4/uid-1 ; 222"}, []string{"1.2.3.4/uid-1 ; 111 222"}},
	"PK-25": {
		[]string{"1.2.3.4/uid-1 ; 111", "!1.2.3.4/uid-1 ; 222"},
		[]string{"1.2.3.4/uid-1 ; 111", "!1.2.3.4/uid-1 ; 222"},
	},
	"PK-26": {[]string{"1.2.3.4 ; 111", "5.6.7.8 ; 111"}, []string{"1.2.3.4 5.6.7.8 ; 111"}},
	"PK-27": {
		[]string{"1.2.3.4/uid-1 ; 111", "1.2.3.4/uid-2 ; 111"},
		[]string{"1.2.3.4/uid-1 1.2.3.4/uid-2 ; 111"},
	},
	"PK-28": {[]string{"1.2.3.4/uid-1 ; 111", "1.2.3.4 ; 111"}, []string{"1.2.3.4 1.2.3.4/uid-1 ; 111"}},
	"PK-29": {
		[]string{"5.6.7.8/uid-5678 ; 111", "5.6.7.8 ; 111", "1.2.3.4/uid-1234 ; 111", "1.2.3.4 ; 111"},
		[]string{"1.2.3.4 1.2.3.4/uid-1234 5.6.7.8 5.6.7.8/uid-5678 ; 111"},
	},
	"PK-30": {
		[]string{"5.6.7.8/uid-5678 ; 111", "!5.6.7.8 ; 111", "!1.2.3.4/uid-1234 ; 111", "1.2.3.4 ; 111"},
		[]string{"1.2.3.4 5.6.7.8/uid-5678 !1.2.3.4/uid-1234 !5.6.7.8 ; 111"},
	},
	"PK-31": {[]string{"5.6.7.8 ; 222", "1.2.3.4 ; 111"}, []string{"1.2.3.4 ; 111", "5.6.7.8 ; 222"}},
	"PK-32": {
		[]string{"1.2.3.4 ; 111", "5.6.7.8 ; 222", "1.2.3.6 ; 111", "5.6.7.8 ; 333"},
		[]string{"5.6.7.8 ; 222 333", "1.2.3.4 1.2.3.6 ; 111"},
	},
	"PK-33": {
		[]string{"1.2.3.4 ; 111", "!5.6.7.8 ; 222", "1.2.3.6 ; 111", "!5.6.7.8 ; 333"},
		[]string{"!5.6.7.8 ; 222 333", "1.2.3.4 1.2.3.6 ; 111"},
	},
	"AD-12":                                       {[]string{"10.0.0.2 10.0.0.10 ; 111"}, []string{"10.0.0.10 10.0.0.2 ; 111"}},
	"K4 a port that is none isn't listed":         {[]string{"1.2.3.4 ; 0"}, []string{"1.2.3.4 ;"}},
	"K4 it shares the subset of others":           {[]string{"1.2.3.4 ; 0 111"}, []string{"1.2.3.4 ; 111"}},
	"a record of another subset may be the first": {[]string{"!1.2.3.4/#first ; 111", "1.2.3.4/#second ; 222 111"}, []string{"1.2.3.4/#first ; 222", "!1.2.3.4/#first ; 111"}},
}

// Packing and sorting of subsets (PK-01 to PK-33).
func TestCanonical(t *testing.T) {
	for name, tc := range packCases {
		t.Run(name, func(t *testing.T) {
			got := Canonical(read(tc.subsets...))
			if diff := cmp.Diff(tc.want, show(got)); diff != "" {
				t.Errorf("subsets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(reference(read(tc.subsets...)), got); diff != "" {
				t.Errorf("against the reference (-want +got):\n%s", diff)
			}
		})
	}
}

// Ports with equal application protocols are equal, even if the pointers differ (§6.2).
func TestCanonicalComparesAppProtocolByValue(t *testing.T) {
	list := read("1.2.3.4 ; 80", "1.2.3.5 ; 80", "1.2.3.6 ; 80")
	list[0].Ports[0].AppProtocol = pointer("http")
	list[1].Ports[0].AppProtocol = pointer("http")
	if got := Canonical(list); len(got) != 2 {
		t.Errorf("got %v, want one subset for the two ports with the application protocol", show(got))
	}
}

// manyAddresses returns n addresses with ports.
func manyAddresses(n int, ports ...string) corev1.EndpointSubset {
	s := corev1.EndpointSubset{Ports: make([]corev1.EndpointPort, 0, len(ports))}
	for _, p := range ports {
		s.Ports = append(s.Ports, readPort(p))
	}
	for i := range n {
		// The addresses are not sorted, like those of pods.
		a := readAddress(fmt.Sprintf("10.0.%d.%d/uid-%d", i*7919%n/250, i*7919%n%250, i))
		a.NodeName = pointer("node-1")
		s.Addresses = append(s.Addresses, a)
	}
	return s
}

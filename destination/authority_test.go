package destination

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var authorityCases = map[string]struct {
	path string
	want authority // the zero one for an error
}{
	"a Service":                         {"web.ns.svc.mycluster.local:8080", authority{service: "web", namespace: "ns", port: 8080}},
	"no port means 80":                  {"web.ns.svc.mycluster.local", authority{service: "web", namespace: "ns", port: 80}},
	"an instance":                       {"web-0.web.ns.svc.mycluster.local:1", authority{hostname: "web-0", service: "web", namespace: "ns", port: 1}},
	"a namespace named svc":             {"web.svc.svc.mycluster.local", authority{service: "web", namespace: "svc", port: 80}},
	"the highest port":                  {"web.ns.svc.mycluster.local:65535", authority{service: "web", namespace: "ns", port: 65535}},
	"an IPv4 address":                   {"10.0.0.1:80", authority{ip: netip.MustParseAddr("10.0.0.1"), port: 80}},
	"an IPv4 address without port":      {"10.0.0.1", authority{ip: netip.MustParseAddr("10.0.0.1"), port: 80}},
	"an IPv6 address":                   {"[fd00::1]:80", authority{ip: netip.MustParseAddr("fd00::1"), port: 80}},
	"G1 a name of another domain":       {path: "linkerd.io"},
	"G2 the wrong cluster domain":       {path: "name.ns.svc.cluster.local"},
	"a trailing dot":                    {path: "web.ns.svc.mycluster.local.:80"},
	"upper case":                        {path: "web.ns.SVC.mycluster.local"},
	"upper case in the domain":          {path: "web.ns.svc.MyCluster.local"},
	"no namespace":                      {path: "web.svc.mycluster.local"},
	"too many labels":                   {path: "a.b.web.ns.svc.mycluster.local"},
	"nothing before svc":                {path: "svc.mycluster.local"},
	"only dots before svc":              {path: "..svc.mycluster.local"},
	"an empty label":                    {path: "web..svc.mycluster.local"},
	"no svc":                            {path: "web.ns.mycluster.local"},
	"svc as part of a label":            {path: "web.nssvc.mycluster.local"},
	"more after the domain":             {path: "web.ns.svc.mycluster.local.com"},
	"an IPv6 address with a zone":       {path: "[fe80::1%eth0]:80"},
	"an unbracketed IPv6 address":       {path: "fd00::1"},
	"a bracketed IPv6 without port":     {path: "[fd00::1]"},
	"port 0":                            {path: "web.ns.svc.mycluster.local:0"},
	"a port too high":                   {path: "web.ns.svc.mycluster.local:65536"},
	"a negative port":                   {path: "web.ns.svc.mycluster.local:-1"},
	"a port with a sign":                {path: "web.ns.svc.mycluster.local:+80"},
	"a port in words":                   {path: "web.ns.svc.mycluster.local:http"},
	"a hexadecimal port":                {path: "web.ns.svc.mycluster.local:0x50"},
	"an empty port":                     {path: "web.ns.svc.mycluster.local:"},
	"two ports":                         {path: "web.ns.svc.mycluster.local:80:81"},
	"only a port":                       {path: ":80"},
	"empty":                             {path: ""},
	"an IPv4 address with a bad port":   {path: "10.0.0.1:0"},
	"an IPv4 address with a zero ahead": {path: "10.0.0.01:80"},
}

// Valid and invalid authorities (§2.1; G1, G2).
func TestParseAuthority(t *testing.T) {
	for name, tc := range authorityCases {
		t.Run(name, func(t *testing.T) {
			got, err := parseAuthority(tc.path, "mycluster.local")
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(authority{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := tc.want == (authority{}); errors.Is(err, errAuthority) != want || (err != nil) != want {
				t.Errorf("error %v, want one: %v", err, want)
			}
			if err != nil && !strings.Contains(err.Error(), tc.path) {
				t.Errorf("the error %q doesn't name the path %q", err, tc.path)
			}
		})
	}
}

// A path is either refused or names something that can exist. A server without Services ends any call with
// one of two status codes.
func FuzzParseAuthority(f *testing.F) {
	for _, tc := range authorityCases {
		f.Add(tc.path)
	}
	f.Add("[web.ns.svc.mycluster.local]:80")
	f.Add("[fe80::1%eth0]:80")
	f.Add("[::ffff:10.0.0.1]:80")
	server := NewServer(settled(f), testConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, path string) {
		a, err := parseAuthority(path, "mycluster.local")
		switch {
		case err != nil:
			if a != (authority{}) {
				t.Errorf("%q: error %v beside %v", path, err, a)
			}
		case a.port == 0:
			t.Errorf("%q: port 0", path)
		case a.ip.IsValid() != (a.service == "" && a.namespace == "" && a.hostname == ""):
			t.Errorf("%q: both a name and an IP address, or neither: %+v", path, a)
		case strings.ContainsAny(a.service+a.namespace+a.hostname, ".:"):
			t.Errorf("%q: names with separators: %+v", path, a)
		}
		want := codes.NotFound
		if err != nil || a.ip.IsValid() {
			want = codes.InvalidArgument
		}
		if got := status.Code(server.Get(&pb.GetDestination{Path: path}, noStream{ctx: t.Context()})); got != want {
			t.Errorf("%q: Get ends with %v, want %v", path, got, want)
		}
	})
}

// noStream is a stream for calls that send nothing.
type noStream struct {
	grpc.ServerStreamingServer[pb.Update]
	ctx context.Context
}

func (s noStream) Context() context.Context { return s.ctx }

var tokenCases = map[string]struct {
	token string
	want  contextToken
	bad   bool
}{
	"C1 JSON":                     {token: "{\"ns\":\"ns-1\", \"nodeName\":\"node-1\"}\n", want: contextToken{Namespace: "ns-1", Node: "node-1"}},
	"C2 a namespace":              {token: "ns:ns-2", want: contextToken{Namespace: "ns-2"}},
	"C3 neither":                  {token: "123fa-test", bad: true},
	"empty":                       {},
	"all keys":                    {token: `{"ns":"a","nodeName":"b","pod":"c"}`, want: contextToken{"a", "b", "c"}},
	"unknown keys":                {token: `{"ns":"a","color":"red","x":{"y":[1]}}`, want: contextToken{Namespace: "a"}},
	"no keys":                     {token: `{}`},
	"a key that is no string":     {token: `{"ns":"a","nodeName":7}`, bad: true},
	"broken JSON":                 {token: `{"ns":"a"`, bad: true},
	"more after the JSON":         {token: `{"ns":"a"} x`, bad: true},
	"a list":                      {token: `["ns","a"]`, bad: true},
	"two colons":                  {token: "ns:a:b", bad: true},
	"another prefix":              {token: "node:a", bad: true},
	"an empty namespace":          {token: "ns:"},
	"only the prefix":             {token: "ns", bad: true},
	"as long as it may be":        {token: `{"pod":"` + strings.Repeat("x", maxToken-10) + `"}`},
	"longer":                      {token: `{"pod":"` + strings.Repeat("x", maxToken-9) + `"}`, bad: true},
	"a long namespace":            {token: "ns:" + strings.Repeat("x", maxNamespace), want: contextToken{Namespace: strings.Repeat("x", maxNamespace)}},
	"too long a namespace":        {token: "ns:" + strings.Repeat("x", maxNamespace+1), bad: true},
	"too long a node":             {token: `{"ns":"a","nodeName":"` + strings.Repeat("x", maxNode+1) + `"}`, bad: true},
	"a node of another namespace": {token: `{"nodeName":"n"}`, want: contextToken{Node: "n"}},
}

// Valid and invalid context tokens (§2.3; C1, C2, C3).
func TestParseContextToken(t *testing.T) {
	for name, tc := range tokenCases {
		t.Run(name, func(t *testing.T) {
			got, err := parseContextToken(tc.token)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != tc.bad {
				t.Errorf("error %v, want one: %v", err, tc.bad)
			}
		})
	}
}

// A token is either parsed or counts as empty (C3).
func FuzzParseContextToken(f *testing.F) {
	for _, tc := range tokenCases {
		f.Add(tc.token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		got, err := parseContextToken(token)
		if err != nil && got != (contextToken{}) {
			t.Errorf("%q: error %v beside %+v", token, err, got)
		}
		if ns, ok := strings.CutPrefix(token, "ns:"); ok && len(ns) <= maxNamespace && !strings.Contains(ns, ":") && (err != nil || got != contextToken{Namespace: ns}) {
			t.Errorf("%q: %+v, %v", token, got, err)
		}
	})
}

package xdsclient

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlspb "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherpb "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/certfiles"
	"github.com/signpostd/signpost/testkit/certtest"
	"github.com/signpostd/signpost/xds"
	"github.com/signpostd/signpost/xds/auth"
	"github.com/signpostd/signpost/xds/resource"
)

// serve serves web.shop with one endpoint, and returns the address and the catalog.
func serve(t *testing.T) (addr string, known *catalog.Catalog) {
	t.Helper()
	known = catalog.New(catalog.Options{})
	known.Put(web())
	known.Put(endpoints("10.0.0.1"))
	known.MarkSynced()
	return serveWith(t, known, nil), known
}

// serveWith serves a catalog, to clients that authenticate accepts, and returns the address.
func serveWith(t *testing.T, known *catalog.Catalog, authenticate auth.Authenticator, options ...grpc.ServerOption) (addr string) {
	t.Helper()
	c := xds.Config{Namer: resource.Namer{TrustDomain: "cluster.local"}, Authenticate: authenticate}
	server := xds.NewServer(known, c, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(append(server.ServerOptions(), options...)...)
	server.Register(g)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = known.Run(ctx) })
	wg.Go(func() { _ = server.Run(ctx) })
	wg.Go(func() { _ = g.Serve(l) })
	t.Cleanup(func() {
		stop()
		g.Stop()
		wg.Wait()
	})
	<-known.Synced()
	return l.Addr().String()
}

// web is the Service.
func web() *catalog.Service {
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web"}
	return &catalog.Service{Key: key, Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}}}
}

func endpoints(addresses ...string) *catalog.EndpointSlice {
	s := &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web", AddressType: catalog.IPv4,
		Service: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web"},
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: "http", Port: 8080}}}},
	}
	for _, a := range addresses {
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(a)}})
	}
	return s
}

func TestGet(t *testing.T) {
	addr, _ := serve(t)
	var out strings.Builder
	if err := Get(t.Context(), Options{Target: "web.shop:80", Addr: addr, Timeout: time.Minute}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"web.shop:80\n  route all\n    cluster web.shop.svc.cluster.local:80\n", "priority 0", "        10.0.0.1:8080\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tree lacks %q:\n%s", want, out.String())
		}
	}
}

// The TLS settings of a Cluster are in the tree and in JSON (spec/xds.md case 39): the providers of
// certificates, and the identities of the endpoints.
func TestGetTLS(t *testing.T) {
	addr, known := serve(t)
	secured, of := web(), endpoints("10.0.0.1")
	secured.Policy = &catalog.TrafficPolicy{TLS: catalog.SPIFFE}
	pod := &catalog.Workload{
		Key: catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web-0"}, ServiceAccount: "web", Running: true, Ready: true,
	}
	of.Subsets[0].Endpoints[0].Target = pod.Key
	for _, v := range []catalog.Object{secured, of, pod} {
		known.Put(v)
	}
	const id = "spiffe://cluster.local/ns/shop/sa/web"
	for format, want := range map[string]string{
		output.Table:                            "    cluster web.shop.svc.cluster.local:80\n      TLS, certificate default, authorities default\n        identity " + id + "\n      priority 0",
		"jsonpath={.routes[0].clusters[0].tls}": `{"authorityProvider":"default","certificateProvider":"default","identities":[{"exact":"` + id + `"}]}`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		o := Options{Target: "web.shop:80", Addr: addr, Watch: true, Timeout: time.Minute}
		o.Output.AddFlag(&cobra.Command{})
		if err := o.Output.Set(format); err != nil {
			t.Fatal(err)
		}
		// The first results may be older than the pod.
		out := &until{want: want, end: cancel}
		if err := Get(ctx, o, out); err != nil {
			t.Fatal(err)
		}
		if !out.seen {
			t.Errorf("%s: no result has %q:\n%s", format, want, out.text.String())
		}
	}
}

// until ends when a text is printed.
type until struct {
	want string
	text strings.Builder
	seen bool
	end  func()
}

// Write implements io.Writer.
func (u *until) Write(p []byte) (int, error) {
	u.text.Write(p)
	if strings.Contains(u.text.String(), u.want) {
		u.seen = true
		u.end()
	}
	return len(p), nil
}

// A Cluster that doesn't come from Signpost may have other fields of TLS, or another transport.
func TestTLSOf(t *testing.T) {
	exact := func(text string) *matcherpb.StringMatcher {
		return &matcherpb.StringMatcher{MatchPattern: &matcherpb.StringMatcher_Exact{Exact: text}}
	}
	socket := func(name string, config proto.Message) *clusterpb.Cluster {
		value, err := anypb.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return &clusterpb.Cluster{Name: "web", TransportSocket: &corepb.TransportSocket{Name: name, ConfigType: &corepb.TransportSocket_TypedConfig{TypedConfig: value}}}
	}
	combined := &tlspb.CommonTlsContext_CombinedValidationContext{CombinedValidationContext: &tlspb.CommonTlsContext_CombinedCertificateValidationContext{
		DefaultValidationContext: &tlspb.CertificateValidationContext{MatchTypedSubjectAltNames: []*tlspb.SubjectAltNameMatcher{
			{SanType: tlspb.SubjectAltNameMatcher_URI, Matcher: exact("spiffe://a")},
			{Matcher: &matcherpb.StringMatcher{MatchPattern: &matcherpb.StringMatcher_Prefix{Prefix: "b."}}},
			{Matcher: &matcherpb.StringMatcher{MatchPattern: &matcherpb.StringMatcher_Suffix{Suffix: ".c"}}},
			{Matcher: &matcherpb.StringMatcher{MatchPattern: &matcherpb.StringMatcher_Contains{Contains: "d"}}},
			{Matcher: &matcherpb.StringMatcher{MatchPattern: &matcherpb.StringMatcher_SafeRegex{SafeRegex: &matcherpb.RegexMatcher{Regex: "e.*"}}}},
		}},
	}}
	for name, tt := range map[string]struct {
		cluster *clusterpb.Cluster
		want    string
	}{
		"no transport socket": {&clusterpb.Cluster{Name: "web"}, ""},
		"another transport":   {socket("plain", &corepb.Address{}), "      transport plain\n"},
		"nothing is verified": {socket("tls", &tlspb.UpstreamTlsContext{Sni: "web.test"}), "      TLS, server name web.test\n        any identity\n"},
		"typed names": {
			socket("tls", &tlspb.UpstreamTlsContext{CommonTlsContext: &tlspb.CommonTlsContext{ValidationContextType: combined}}),
			"      TLS\n        identity spiffe://a\n        identity prefix b.\n        identity suffix .c\n        identity contains d\n        identity regex e.*\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wire, err := proto.Marshal(tt.cluster)
			if err != nil {
				t.Fatal(err)
			}
			a := result{Target: "web", Routes: []targetRoute{{Match: "all", Clusters: []targetCluster{{Name: "web", TLS: tlsOf(wire)}}}}}
			if got, want := a.text(), "web\n  route all\n    cluster web\n"+tt.want+"      no endpoints\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestGetUnknown(t *testing.T) {
	addr, _ := serve(t)
	var out strings.Builder
	if err := Get(t.Context(), Options{Target: "nope.shop:80", Addr: addr, Timeout: time.Minute}, &out); !errors.Is(err, ErrUnknown) {
		t.Errorf("error %v", err)
	}
	if want := "nope.shop:80\n  missing: no Service nope in namespace shop\n"; out.String() != want {
		t.Errorf("printed is\n%s\nwant\n%s", out.String(), want)
	}
}

// A server with --xds-auth=token needs TLS and a token, and each mistake is named with its flag.
func TestGetSecure(t *testing.T) {
	dir := t.TempDir()
	ca, key, token, empty := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "token"), filepath.Join(dir, "empty")
	if err := certtest.WriteSelfSigned(ca, key, "signpost-xds.signpost.svc"); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{token: "t0\n", empty: "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(ca, key)
	if err != nil {
		t.Fatal(err)
	}
	known := catalog.New(catalog.Options{})
	known.Put(web())
	known.Put(endpoints("10.0.0.1"))
	known.MarkSynced()
	addr := serveWith(t, known, func(ctx context.Context) (auth.Identity, error) {
		if md, _ := metadata.FromIncomingContext(ctx); slices.Equal(md.Get("authorization"), []string{"Bearer t0"}) {
			return auth.Identity{Namespace: "shop"}, nil
		}
		return auth.Identity{}, status.Error(codes.Unauthenticated, "no token")
	}, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	plain, _ := serve(t)
	const name = "signpost-xds.signpost.svc"
	trusted := certfiles.ClientFiles{CA: ca}
	for want, o := range map[string]Options{
		"": {Addr: addr, TLS: TLS{ClientFiles: trusted, ServerName: name, TokenFile: token}},
		"Unauthenticated: no token: see --token-file":       {Addr: addr, TLS: TLS{ClientFiles: trusted, ServerName: name}},
		"if it uses TLS, give --tls-ca":                     {Addr: addr},
		"--tls-ca: empty":                                   {Addr: addr, TLS: TLS{TokenFile: token}},
		"--token-file=" + empty + ": empty":                 {Addr: addr, TLS: TLS{ClientFiles: trusted, TokenFile: empty}},
		"--tls-ca: the file " + key + " has no certificate": {Addr: addr, TLS: TLS{ClientFiles: certfiles.ClientFiles{CA: key}}},
		"check that an xDS server listens there":            {Addr: plain, TLS: TLS{ClientFiles: trusted, ServerName: name}},
	} {
		o.Target, o.Timeout = "web.shop:80", time.Minute
		err := Get(t.Context(), o, &strings.Builder{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", o.TLS, err, want)
		}
	}
}

// A server without xDS, such as that of the role destination, is named as such.
func TestGetFromAnotherServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Serve(l) })
	t.Cleanup(func() {
		g.Stop()
		wg.Wait()
	})
	err = Get(t.Context(), Options{Target: "web.shop:80", Addr: l.Addr().String(), Timeout: time.Minute}, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "this is no xDS server") {
		t.Errorf("error %v", err)
	}
}

// A server that doesn't respond is an error after the timeout.
func TestGetTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	err = Get(t.Context(), Options{Target: "web.shop:80", Addr: addr, Timeout: 50 * time.Millisecond}, &strings.Builder{})
	want := "query " + addr + ": no complete response within 50ms: check the address, or set a longer --timeout"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// watched makes a change when the first tree is printed, and ends when the second one is.
type watched struct {
	text   strings.Builder
	change func()
	end    func()
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	if w.text.Len() == 0 {
		w.change()
	} else {
		w.end()
	}
	return w.text.Write(p)
}

func TestWatch(t *testing.T) {
	addr, known := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &watched{change: func() { known.Put(endpoints("10.0.0.1", "10.0.0.2")) }, end: cancel}
	if err := Get(ctx, Options{Target: "web.shop:80", Addr: addr, Watch: true, Timeout: time.Minute}, w); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.text.String(), "10.0.0.1:8080"); n != 2 || !strings.Contains(w.text.String(), "10.0.0.2:8080") {
		t.Errorf("printed:\n%s", w.text.String())
	}
}

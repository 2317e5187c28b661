package xds

import (
	"crypto/tls"
	"encoding/json"
	"net/netip"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	grpcxds "google.golang.org/grpc/xds"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/certtest"
	"github.com/signpostd/signpost/xds/bootstrap"
)

// newAuthority returns an authority that signs certificates.
func newAuthority(t *testing.T) *certtest.Authority {
	t.Helper()
	a, err := certtest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// secureBackend starts a backend with an identity, which requires a certificate of clients.
func (w *grpcFixture) secureBackend(a *certtest.Authority, id string) *backend {
	w.t.Helper()
	cert, err := a.Issue(id)
	if err != nil {
		w.t.Fatal(err)
	}
	creds := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool(), MinVersion: tls.VersionTLS13,
	})
	return w.backend(grpc.Creds(creds))
}

// servePod makes a backend the only endpoint of web.shop: a pod with a service account.
func (w *grpcFixture) servePod(b *backend, account string) {
	pod := &catalog.Workload{
		Key:            catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web-" + account},
		ServiceAccount: account, Running: true, Ready: true, IPs: []netip.Addr{b.addr.Addr()},
	}
	w.catalog.Put(pod)
	s := slice(w.web, "web", "grpc", b.addr.Port(), b.addr.Addr().String())
	s.Subsets[0].Endpoints[0].Target = pod.Key
	w.catalog.Put(s)
}

// dialSecurely returns a channel of a client with xDS credentials, and with certificates if dir
// isn't empty.
func (w *grpcFixture) dialSecurely(dir string) healthpb.HealthClient {
	w.t.Helper()
	file, err := bootstrap.Options{Server: "passthrough:///" + w.addr, Certs: dir}.File()
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := json.Marshal(file)
	if err != nil {
		w.t.Fatal(err)
	}
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting(config)
	if err != nil {
		w.t.Fatal(err)
	}
	creds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := grpc.NewClient("xds:///web.shop:50051", grpc.WithTransportCredentials(creds), grpc.WithResolvers(resolver))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return healthpb.NewHealthClient(conn)
}

// Case 39: a client of grpc-go connects to endpoints whose certificates name the service accounts
// of their pods, and to no other. The identities follow the pods. A client without certificates
// doesn't connect without TLS instead.
func TestGRPCTLSToEndpoints(t *testing.T) {
	w := startGRPCFixture(t)
	a := newAuthority(t)
	w.web.Policy = &catalog.TrafficPolicy{TLS: catalog.SPIFFE}
	w.catalog.Put(w.web)
	web, next := w.secureBackend(a, "spiffe://cluster.local/ns/shop/sa/web"), w.secureBackend(a, "spiffe://cluster.local/ns/shop/sa/next")
	w.servePod(web, "web")

	certs := t.TempDir()
	if err := a.Write(certs, "spiffe://cluster.local/ns/shop/sa/client"); err != nil {
		t.Fatal(err)
	}
	c := w.dialSecurely(certs)
	succeeds(t, c)
	w.servePod(next, "next") // the identities change before the endpoints
	waitFor(t, "the next backend is called", func() bool { return call(t, c, patience) == nil && next.calls.Load() > 0 })
	w.servePod(web, "other") // which is what the pod has, and not what its certificate says
	if err := fails(t, c); status.Code(err) != codes.Unavailable {
		t.Errorf("a backend with the identity of another service account: %v", err)
	}
	calls := web.calls.Load()

	plain := w.backend()
	w.servePod(plain, "web")
	if err := fails(t, w.dialSecurely("")); status.Code(err) != codes.Unavailable || plain.calls.Load() > 0 || web.calls.Load() > calls {
		t.Errorf("a client without certificates: %v, with %d calls without TLS", err, plain.calls.Load())
	}
}

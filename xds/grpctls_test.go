package xds

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	grpcxds "google.golang.org/grpc/xds"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/bootstrap"
)

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	a.cert, a.key = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.pool.AddCert(a.cert)
	return a
}

// sign returns a certificate and its key. The first one signs itself.
func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.NotBefore, c.NotAfter = time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed, key
}

// issue returns a certificate with a SPIFFE ID.
func (a *authority) issue(id string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	uri, err := url.Parse(id)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), URIs: []*url.URL{uri}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// write writes the certificate of an identity, its key and that of the authority to a directory, as cert-manager does.
func (a *authority) write(id string) string {
	a.t.Helper()
	dir := a.t.TempDir()
	cert, key := a.issue(id)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: cert.Raw}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret}, "ca.crt": {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return dir
}

// secureBackend starts a backend with an identity, which requires a certificate of clients.
func (w *world) secureBackend(a *authority, id string) *backend {
	w.t.Helper()
	cert, key := a.issue(id)
	creds := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool,
		MinVersion: tls.VersionTLS13,
	})
	return w.backend(grpc.Creds(creds))
}

// servePod makes a backend the only endpoint of web.shop: a pod with a service account.
func (w *world) servePod(b *backend, account string) {
	pod := &catalog.Workload{
		Key:            catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web-" + account},
		ServiceAccount: account, Running: true, Ready: true, IPs: []netip.Addr{b.addr.Addr()},
	}
	w.catalog.Put(pod)
	s := slice(w.web, "web", "grpc", b.addr.Port(), b.addr.Addr().String())
	s.Subsets[0].Endpoints[0].Target = pod.Key
	w.catalog.Put(s)
}

// dialSecurely returns a channel of a client with xDS credentials, and with certificates if dir isn't empty.
func (w *world) dialSecurely(dir string) healthpb.HealthClient {
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

// Case 39: a client of grpc-go connects to endpoints whose certificates name the service accounts of their pods, and to no
// other. The identities follow the pods. A client without certificates doesn't connect without TLS instead.
func TestGRPCTLSToEndpoints(t *testing.T) {
	w := startWorld(t)
	a := newAuthority(t)
	w.web.Policy = &catalog.TrafficPolicy{TLS: catalog.SPIFFE}
	w.catalog.Put(w.web)
	web, next := w.secureBackend(a, "spiffe://cluster.local/ns/shop/sa/web"), w.secureBackend(a, "spiffe://cluster.local/ns/shop/sa/next")
	w.servePod(web, "web")

	c := w.dialSecurely(a.write("spiffe://cluster.local/ns/shop/sa/client"))
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

package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	discoverypb "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/certtest"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/xds/auth"
)

// serverCertificate writes a certificate for 127.0.0.1 that signs itself, and its key, and returns
// their paths.
func serverCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if err := certtest.WriteSelfSigned(cert, key, "signpost", netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// token returns a token of the service account default of a namespace.
func (api roleServer) token(t *testing.T, namespace, audience string) string {
	t.Helper()
	var token string
	kubetest.Eventually(t, deliveryTimeout, func() error { // the account is made after the namespace
		made, err := api.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}},
		}, metav1.CreateOptions{})
		if err == nil {
			token = made.Status.Token
		}
		return err
	})
	return token
}

// spec/xds.md case 60 and spec/xds.md §10.2: with the roles in deploy/rbac, tokens of the API
// server are verified, and a rejection is an Event.
func (api roleServer) testXDSTokens(t *testing.T) {
	ns := api.Namespace(t)
	api.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}\n---\n"+podsOfWeb, ns)
	c := settings.Default()
	c.RunsXDS, c.XDS.LinkNamespace, c.XDS.Auth = true, ns, settings.XDSAuthToken
	c.Process.Kubeconfig = api.kubeconfigOf(t, ns, "xds", "signpost-xds", "signpost-xds-tokens", "signpost-xds-links")
	c.XDS.TLSCert, c.XDS.TLSKey = serverCertificate(t)
	c.XDS = c.XDS.Settled()
	s := serveConfig(t, c)
	s.awaitReady(t, "ok\n")
	roots := x509.NewCertPool()
	text, err := os.ReadFile(c.XDS.TLSCert)
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(text)
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// ask opens a stream and asks for the Cluster of web.
	ask := func(ctx context.Context) (discoverypb.AggregatedDiscoveryService_StreamAggregatedResourcesClient, *discoverypb.DiscoveryResponse, error) {
		stream, err := discoverypb.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
		if err != nil {
			return nil, nil, err
		}
		_ = stream.Send(&discoverypb.DiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", ResourceNames: []string{"web." + ns + ".svc.cluster.local:80"}})
		r, err := stream.Recv()
		return stream, r, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), deliveryTimeout)
	defer cancel()
	for name, headers := range map[string][]string{
		"no token": nil, "another audience": {"authorization", "Bearer " + api.token(t, ns, "other")}, "nonsense": {"authorization", "Bearer x.y.z"},
	} {
		if _, _, err := ask(metadata.AppendToOutgoingContext(ctx, headers...)); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	stream, r, err := ask(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+api.token(t, ns, auth.Audience)))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.GetResources()) != 1 {
		t.Errorf("resources: %v", r)
	}
	reject := &discoverypb.DiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce(), ErrorDetail: &rpcstatus.Status{Code: 3, Message: "unknown policy"}}
	if err := stream.Send(reject); err != nil {
		t.Fatal(err)
	}
	api.awaitEvent(t, ns, "XdsRejected")
	list, err := api.Client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=XdsRejected"})
	if err != nil || list.Items[0].InvolvedObject.Name != "web" || !strings.Contains(list.Items[0].Message, "unknown policy") {
		t.Errorf("Events: %v, %v", list, err)
	}
	s.wantMetrics(t, `xds_refused_total{reason="identity"} 3`)
	s.stop(t)
}

// A client certificate is valid only in the trust domains of the settings, by default in that of
// pods (spec/xds.md §7.3).
func (api roleServer) testXDSCertificates(t *testing.T) {
	ns, dir := api.Namespace(t), t.TempDir()
	a, err := certtest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(dir, "spiffe://pods.test/ns/signpost/sa/signpost", netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	c := settings.Default()
	c.RunsXDS, c.XDS.LinkNamespace, c.XDS.Auth, c.XDS.IdentityTrustDomain = true, ns, settings.XDSAuthMTLS, "pods.test"
	c.Process.Kubeconfig = api.Kubeconfig
	c.XDS.TLSCert, c.XDS.TLSKey, c.XDS.ClientCA = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	c.XDS = c.XDS.Settled()
	s := serveConfig(t, c)
	s.awaitReady(t, "ok\n")
	ctx, cancel := context.WithTimeout(t.Context(), deliveryTimeout)
	defer cancel()
	for domain, want := range map[string]codes.Code{"pods.test": codes.OK, "cluster.local": codes.Unauthenticated} {
		cert, err := a.Issue("spiffe://" + domain + "/ns/" + ns + "/sa/client")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{cert}})))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		stream, err := discoverypb.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(&discoverypb.DiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", ResourceNames: []string{"web." + ns + ".svc.cluster.local:80"}})
		if _, err := stream.Recv(); status.Code(err) != want {
			t.Errorf("trust domain %s: %v, want %v", domain, err, want)
		}
	}
	s.stop(t)
}

package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

func TestCertificates(t *testing.T) {
	for name, tt := range map[string]struct {
		uris       []string
		unverified bool
		want       Identity
	}{
		"a service account":  {uris: []string{"spiffe://cluster.local/ns/shop/sa/web"}, want: Identity{Namespace: "shop"}},
		"not verified":       {uris: []string{"spiffe://cluster.local/ns/shop/sa/web"}, unverified: true},
		"no URI":             {},
		"two URIs":           {uris: []string{"spiffe://cluster.local/ns/shop/sa/web", "spiffe://cluster.local/ns/other/sa/web"}},
		"a second domain":    {uris: []string{"spiffe://east.test/ns/shop/sa/web"}, want: Identity{Namespace: "shop"}},
		"another domain":     {uris: []string{"spiffe://other.test/ns/shop/sa/web"}},
		"a domain with more": {uris: []string{"spiffe://cluster.local.test/ns/shop/sa/web"}},
		"a port":             {uris: []string{"spiffe://cluster.local:80/ns/shop/sa/web"}},
		"another scheme":     {uris: []string{"https://cluster.local/ns/shop/sa/web"}},
		"no trust domain":    {uris: []string{"spiffe:///ns/shop/sa/web"}},
		"an empty namespace": {uris: []string{"spiffe://cluster.local/ns//sa/web"}},
		"more segments":      {uris: []string{"spiffe://cluster.local/ns/shop/sa/web/x"}},
		"another path":       {uris: []string{"spiffe://cluster.local/vm/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			cert := &x509.Certificate{}
			for _, text := range tt.uris {
				uri, err := url.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				cert.URIs = append(cert.URIs, uri)
			}
			info := credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{cert}}}}
			if tt.unverified {
				info.State.VerifiedChains = nil
			}
			got, err := Certificates([]string{"cluster.local", "east.test"})(peer.NewContext(t.Context(), &peer.Peer{AuthInfo: info}))
			if got != tt.want || (err == nil) != (tt.want != Identity{}) || err != nil && status.Code(err) != codes.Unauthenticated {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for _, ctx := range []context.Context{t.Context(), peer.NewContext(t.Context(), &peer.Peer{})} {
		if _, err := Certificates([]string{"cluster.local"})(ctx); status.Code(err) != codes.Unauthenticated {
			t.Errorf("without TLS: %v", err)
		}
	}
}

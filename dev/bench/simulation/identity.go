package simulation

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/netip"

	"github.com/signpostd/signpost/testkit/certtest"
)

// identity is a certificate of 127.0.0.1 that nobody else has signed.
type identity struct {
	certificate tls.Certificate
	pem         []byte
}

func newIdentity() (*identity, error) {
	cert, key, err := certtest.SelfSigned("simulated-api-server", netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	return &identity{certificate: pair, pem: cert}, err
}

func (i *identity) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{i.certificate}, MinVersion: tls.VersionTLS13}
}

// kubeconfig returns a kubeconfig for a server that has the identity.
func (i *identity) kubeconfig(address string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: simulated
contexts: [{name: simulated, context: {cluster: simulated, user: bench}}]
users: [{name: bench, user: {token: bench}}]
clusters: [{name: simulated, cluster: {server: "https://%s", certificate-authority-data: %s}}]
`, address, base64.StdEncoding.EncodeToString(i.pem))
}

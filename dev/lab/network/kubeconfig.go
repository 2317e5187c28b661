package network

import (
	"crypto/tls"
	"fmt"
	"net/netip"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/testkit/certtest"
)

// issue issues a certificate for 127.0.0.1. It is valid for processes with wrong clocks too.
func issue(ca *certtest.Authority) (*tls.Certificate, error) {
	cert, err := ca.Issue("spiffe://lab/kube-apiserver", netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	return &cert, err
}

// writeKubeconfig writes a kubeconfig with a certificate authority in PEM and a bearer token.
func writeKubeconfig(path, addr string, ca []byte, token string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: "https://" + addr, CertificateAuthorityData: ca}
	config.AuthInfos["replica"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "replica"}
	config.CurrentContext = "lab"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the kubeconfig %s: %w", path, err)
	}
	return nil
}

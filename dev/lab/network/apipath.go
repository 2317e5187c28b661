package network

import (
	"crypto/rand"
	"fmt"
	"net"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/testkit/certtest"
)

// APIPath is the path of one replica to the API server: replica → Front → API → Back → API server.
type APIPath struct {
	Front, Back *Link
	API         *API
	// Kubeconfig is the path of the replica's kubeconfig, which grants all rights.
	Kubeconfig string
}

// NewAPIPath creates the path for a replica to the API server of an administrator's kubeconfig. The API
// server may restart at the same address. The kubeconfig of the replica is written to dir.
func NewAPIPath(recorder Recorder, replica, adminKubeconfig, dir string) (*APIPath, error) {
	p := &APIPath{Kubeconfig: filepath.Join(dir, replica+".kubeconfig")}
	if err := p.build(recorder, replica, adminKubeconfig); err != nil {
		p.Close()
		return nil, fmt.Errorf("connect %s to the API server: %w", replica, err)
	}
	return p, nil
}

func (p *APIPath) build(recorder Recorder, replica, adminKubeconfig string) error {
	to, err := readDestination(adminKubeconfig)
	if err != nil {
		return err
	}
	if p.Back, err = NewLink(to.dial); err != nil {
		return err
	}
	to.dial = p.Back.Addr()
	ca, err := certtest.NewAuthority()
	if err != nil {
		return err
	}
	token := rand.Text()
	if p.API, err = newAPI(recorder, replica, to, ca, token); err != nil {
		return err
	}
	if p.Front, err = NewLink(p.API.addr); err != nil {
		return err
	}
	return writeKubeconfig(p.Kubeconfig, p.Front.Addr(), ca.PEM(), token)
}

// readDestination returns the API server of a kubeconfig, without a Link.
func readDestination(kubeconfig string) (destination, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return destination{}, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	to := destination{config: config}
	if to.url, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return destination{}, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	if to.tls, err = rest.TLSConfigFor(config); err != nil {
		return destination{}, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	port := to.url.Port()
	if port == "" {
		port = "443"
	}
	to.dial = net.JoinHostPort(to.url.Hostname(), port)
	return to, nil
}

// Heal ends all faults and failures on the path.
func (p *APIPath) Heal() {
	p.Front.Heal()
	p.API.faults.endAll()
	p.Back.Heal()
}

// Close aborts everything on the path, and returns when all writes are recorded.
func (p *APIPath) Close() {
	if p.Front != nil {
		p.Front.Close()
	}
	if p.API != nil {
		p.API.close()
	}
	if p.Back != nil {
		p.Back.Close()
	}
}

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/dev/localcluster/pki"
)

// probeTimeout bounds one question about readiness.
const probeTimeout = 2 * time.Second

// newKubeconfig returns an administrator's kubeconfig with the credentials inside.
func newKubeconfig(files pki.Files, server string) (*clientcmdapi.Config, error) {
	ca, err := os.ReadFile(files.CA.CertFile)
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig: %w", err)
	}
	cert, err := os.ReadFile(files.Admin.CertFile)
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig: %w", err)
	}
	key, err := os.ReadFile(files.Admin.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig: %w", err)
	}
	const name = "localcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: "admin"}
	config.CurrentContext = name
	return config, nil
}

// newRESTConfig returns client settings without a rate limit.
func newRESTConfig(kubeconfig *clientcmdapi.Config) (*rest.Config, error) {
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read own kubeconfig: %w", err)
	}
	config.QPS = -1
	config.UserAgent = "localcluster"
	return config, nil
}

// httpReady returns a probe that is content when url answers 200.
func httpReady(url string) func(context.Context) error {
	// The components' own certificates are self-signed, and the answer decides nothing but the order
	// of starting.
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("probe %s: %s", url, response.Status)
		}
		return nil
	}
}

// probe returns the readiness question of a component.
func (p plan) probe(component string) func(context.Context) error {
	switch component {
	case Etcd:
		return httpReady(url("http", p.ports.etcd) + "/health")
	case APIServer:
		return httpReady(url("https", p.ports.apiServer) + "/readyz")
	case ControllerManager:
		return httpReady(url("https", p.ports.controllerManager) + "/healthz")
	default:
		return httpReady(url("https", p.ports.scheduler) + "/healthz")
	}
}

func newClient(config *rest.Config) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client, nil
}

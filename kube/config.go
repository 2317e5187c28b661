package kube

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// requestRate and requestBurst limit what the writers send; tables have no limit.
	requestRate  = 50
	requestBurst = 100
)

// LoadConfig returns the configuration for talking to an API server: from the
// kubeconfig file at path, or when that is empty by the rules of kubectl: $KUBECONFIG,
// ~/.kube/config, else the service account of the Pod. The API server is told the user agent:
// it names the writer of an object by it, and so does an audit log.
func LoadConfig(path, userAgent string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig %q: %w; name a file, set KUBECONFIG, or run in a Pod", path, err)
	}
	cfg.UserAgent = userAgent
	cfg.QPS, cfg.Burst = requestRate, requestBurst
	return cfg, nil
}

package linked

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// errNotYAML replaces the decoder's error, which may quote credentials.
var errNotYAML = errors.New("not a kubeconfig: it can't be decoded as YAML of kind Config")

// Detours says whether kubeconfigs may reach an API server through a proxy (proxy-url), or at a URL with a
// path, as Rancher uses.
type Detours string

// The values of [Detours].
const (
	// DetoursRefused is the default, because whoever may write the Secret must not be able to make this
	// process send requests to any URL that it can reach.
	DetoursRefused Detours = ""
	// DetoursAllowed is for users who trust everyone who may write the Secrets.
	DetoursAllowed Detours = "allowed"
)

// DetoursFlag is the flag that allows detours. Errors name it.
const DetoursFlag = "linked-clusters-through-proxies"

// loadKubeconfig reads the current context of a kubeconfig. It refuses a kubeconfig that would run a program
// or send a file of this host, because the right to write the Secret must not grant that.
func loadKubeconfig(text string, detours Detours) (*rest.Config, error) {
	file, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, errNotYAML
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		return nil, fmt.Errorf("its current-context %q is not among its contexts", file.CurrentContext)
	}
	if err := checkServer(file.Clusters[context.Cluster], detours); err != nil {
		return nil, fmt.Errorf("cluster %q of its current context: %w", context.Cluster, err)
	}
	if err := checkUser(file.AuthInfos[context.AuthInfo]); err != nil {
		return nil, fmt.Errorf("user %q of its current context: %w", context.AuthInfo, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read its current context: %w", err)
	}
	if _, err := rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("make a client of its current context: %w", err)
	}
	return config, nil
}

func checkServer(c *api.Cluster, detours Detours) error {
	if c == nil {
		return errors.New("there is none of that name")
	}
	if c.CertificateAuthority != "" {
		return errors.New("certificate-authority names a file; use certificate-authority-data")
	}
	u, err := url.Parse(c.Server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("server is no URL such as https://192.0.2.1:6443")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("server has a user, a query or a fragment in its URL; write https://HOST:PORT")
	}
	if detours == DetoursAllowed {
		return checkProxy(c.ProxyURL)
	}
	if c.ProxyURL != "" {
		return errors.New("proxy-url is refused; remove it, or run this process with --" + DetoursFlag)
	}
	if u.Path != "" && u.Path != "/" {
		return errors.New("server has a path in its URL, which is refused; write https://HOST:PORT, or run this process with --" + DetoursFlag)
	}
	return nil
}

// proxySchemes are the schemes of proxy-url that client-go knows.
var proxySchemes = []string{"http", "https", "socks5"}

// checkProxy returns an error for an invalid proxy-url. That of client-go would quote the URL,
// which may have a password.
func checkProxy(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(proxySchemes, u.Scheme) {
		return errors.New("proxy-url is no URL such as http://192.0.2.2:3128")
	}
	return nil
}

func checkUser(u *api.AuthInfo) error {
	switch {
	case u == nil:
		return errors.New("there is none of that name")
	case u.Exec != nil:
		return errors.New("exec would run a program here; use a token or a client certificate")
	case u.AuthProvider != nil:
		return errors.New("auth-provider is not supported; use a token or a client certificate")
	case u.ClientCertificate != "":
		return errors.New("client-certificate names a file; use client-certificate-data")
	case u.ClientKey != "":
		return errors.New("client-key names a file; use client-key-data")
	case u.TokenFile != "":
		return errors.New("tokenFile names a file; use token")
	default:
		return nil
	}
}

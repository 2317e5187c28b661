package kubetest

import (
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigAs returns the path of a kubeconfig of another user until the test ends: edit gets the
// credentials of the administrator.
func (c *Cluster) KubeconfigAs(t testing.TB, edit func(user *clientcmdapi.AuthInfo)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		edit(user)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// KubeconfigOf returns the path of a kubeconfig with a token of a service account, as in a pod.
func (c *Cluster) KubeconfigOf(t testing.TB, namespace, account string) string {
	t.Helper()
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.KubeconfigAs(t, func(user *clientcmdapi.AuthInfo) { *user = clientcmdapi.AuthInfo{Token: token.Status.Token} })
}

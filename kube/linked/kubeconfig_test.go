package linked

import (
	"strings"
	"testing"
)

const execKubeconfig = `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, interactiveMode: Never}}}]
`

func kubeconfigWith(user, cluster string) string {
	text := strings.Replace(execKubeconfig, `{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, interactiveMode: Never}}`, user, 1)
	return strings.Replace(text, `{server: "https://192.0.2.1:6443"}`, cluster, 1)
}

// A kubeconfig is used only for what it says itself: it names no files and no programs.
func TestLoadKubeconfig(t *testing.T) {
	const server = `{server: "https://192.0.2.1:6443"}`
	for name, tc := range map[string]struct{ text, want string }{
		"token":            {kubeconfigWith("{token: t}", server), ""},
		"nobody":           {kubeconfigWith("{}", server), ""},
		"other users":      {kubeconfigWith("{token: t}}, {name: other, user: {tokenFile: /etc/passwd}", server), ""},
		"empty":            {"", "current-context"},
		"garbage":          {"\x00{", "not a kubeconfig"},
		"secret garbage":   {"token: [hunter2", "not a kubeconfig"},
		"program":          {execKubeconfig, "exec would run a program"},
		"auth provider":    {kubeconfigWith("{auth-provider: {name: gcp}}", server), "auth-provider"},
		"token file":       {kubeconfigWith("{tokenFile: /etc/passwd}", server), "tokenFile names a file"},
		"certificate file": {kubeconfigWith("{client-certificate: /c, client-key: /k}", server), "client-certificate names a file"},
		"key file":         {kubeconfigWith("{client-key: /k}", server), "client-key names a file"},
		"authority file":   {kubeconfigWith("{token: t}", `{server: "https://h", certificate-authority: /ca}`), "certificate-authority names a file"},
		"no server":        {kubeconfigWith("{token: t}", `{}`), "server is no URL"},
		"a path":           {kubeconfigWith("{token: t}", `{server: "unix:///run/docker.sock"}`), "server is no URL"},
		// M10: a proxy or a path makes any URL of the internal network a "cluster".
		"proxy":                 {kubeconfigWith("{token: t}", `{server: "https://192.0.2.1:6443", proxy-url: "http://169.254.169.254"}`), "proxy-url is refused; remove it, or run this process with --linked-clusters-through-proxies"},
		"path of a URL":         {kubeconfigWith("{token: t}", `{server: "https://192.0.2.1:6443/latest/meta-data"}`), "server has a path in its URL, which is refused"},
		"slash":                 {kubeconfigWith("{token: t}", `{server: "https://192.0.2.1:6443/"}`), ""},
		"query":                 {kubeconfigWith("{token: t}", `{server: "https://192.0.2.1:6443?a=b"}`), "a user, a query or a fragment"},
		"user":                  {kubeconfigWith("{token: t}", `{server: "https://hunter2@192.0.2.1:6443"}`), "a user, a query or a fragment"},
		"bad authority":         {kubeconfigWith("{token: t}", `{server: "https://h", certificate-authority-data: Zm9v}`), "make a client"},
		"context without user":  {strings.Replace(kubeconfigWith("{}", server), "user: u}", "user: x}", 1), `user "x" of its current context: there is none`},
		"context without place": {strings.Replace(kubeconfigWith("{}", server), "cluster: c,", "cluster: x,", 1), `cluster "x" of its current context: there is none`},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := loadKubeconfig(tc.text, DetoursRefused)
			switch {
			case tc.want == "" && (err != nil || strings.TrimSuffix(config.Host, "/") != "https://192.0.2.1:6443"):
				t.Errorf("%v, %v", config, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the error quotes the kubeconfig: %v", err)
			}
		})
	}
}

// M10: who trusts the writers of the Secrets can allow what Rancher's kubeconfigs have.
func TestDetours(t *testing.T) {
	text := kubeconfigWith("{token: t}", `{server: "https://192.0.2.1/k8s/clusters/c-1", proxy-url: "http://192.0.2.2:3128"}`)
	config, err := loadKubeconfig(text, DetoursAllowed)
	if err != nil || config.Host != "https://192.0.2.1/k8s/clusters/c-1" || config.Proxy == nil {
		t.Fatalf("%v, error %v", config, err)
	}
	if got := (&link{config: config}).server(); got != "https://192.0.2.1" {
		t.Errorf("the server is shown as %s", got)
	}
	if _, err := loadKubeconfig(strings.Replace(text, "192.0.2.1/", "u:p@192.0.2.1/", 1), DetoursAllowed); err == nil {
		t.Error("credentials in the URL are accepted")
	}
	// The error is shown in an Event, and to clients of the Services of the cluster.
	for _, proxy := range []string{"http://u:hunter2@192.0.2.2:port", "ftp://u:hunter2@192.0.2.2", "hunter2"} {
		if _, err := loadKubeconfig(strings.Replace(text, "http://192.0.2.2:3128", proxy, 1), DetoursAllowed); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "proxy-url") {
			t.Errorf("the error of the proxy %s is %v", proxy, err)
		}
	}
}

func FuzzLoadKubeconfig(f *testing.F) {
	f.Add(execKubeconfig)
	f.Add(kubeconfigWith("{token: t}", `{server: "https://h"}`))
	f.Fuzz(func(t *testing.T, text string) {
		config, err := loadKubeconfig(text, DetoursRefused)
		if err == nil && (config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" ||
			config.CertFile != "" || config.Proxy != nil || config.KeyFile != "" || config.CAFile != "") {
			t.Errorf("%q gives %v", text, config)
		}
	})
}

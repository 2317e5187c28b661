package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// writeKubeconfig writes a kubeconfig that has two contexts, c and d, and returns its path.
func writeKubeconfig(t *testing.T, name, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	content := `{apiVersion: v1, kind: Config, current-context: c,
		clusters: [{name: c, cluster: {server: "` + server + `"}}, {name: d, cluster: {server: "` + server + `/d"}}],
		contexts: [{name: c, context: {cluster: c}}, {name: d, context: {cluster: d, namespace: shop}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadConfig(t *testing.T) {
	named := writeKubeconfig(t, "named", "https://named")
	t.Setenv("KUBECONFIG", writeKubeconfig(t, "environment", "https://environment"))
	for path, want := range map[string]string{named: "https://named", "": "https://environment"} {
		cfg, err := LoadConfig(path, "me/1")
		if err != nil || cfg.Host != want || cfg.QPS != requestRate {
			t.Errorf("LoadConfig(%q) = %+v, %v; want host %s", path, cfg, err, want)
		}
	}
}

// B9: a kubeconfig that doesn't exist was called "", and a line of another program's log named it.
func TestLoadConfigThatIsMissing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	missing, other := filepath.Join(dir, "missing"), filepath.Join(dir, "other")
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("{apiVersion: v1, kind: Config}"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, environment, want string }{
		{path: missing, want: "load the kubeconfig " + missing + ": no such file or directory"},
		{environment: missing, want: "load a kubeconfig: " + missing + " (of KUBECONFIG) does not exist, and this is not a Pod: name one with --kubeconfig or KUBECONFIG"},
		{environment: missing + ":" + other, want: missing + ", " + other + " (of KUBECONFIG) do not exist"},
		{environment: empty, want: empty + " names no API server"},
		{path: empty, want: empty + " names no API server"},
		{path: broken, want: broken},
		{environment: broken, want: broken},
	} {
		t.Setenv("KUBECONFIG", test.environment)
		cfg, err := LoadConfig(test.path, "me/1")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("LoadConfig(%q) with KUBECONFIG=%s: got %v, %v; want an error with %q", test.path, test.environment, cfg, err, test.want)
		}
	}
}

func TestConfigSource(t *testing.T) {
	source := ConfigSource{Path: writeKubeconfig(t, "named", "https://named")}
	if namespace, err := source.Namespace(); namespace != "default" || err != nil {
		t.Errorf("the context names no namespace, but got %q, %v", namespace, err)
	}
	source.Overrides.CurrentContext = "d"
	source.Overrides.AuthInfo.Impersonate, source.Overrides.AuthInfo.ImpersonateGroups = "me", []string{"us"}
	cfg, err := source.Load("me/1")
	if err != nil || cfg.Host != "https://named/d" || cfg.Impersonate.UserName != "me" || len(cfg.Impersonate.Groups) != 1 {
		t.Errorf("Load = %+v, %v; want the context d, as me of us", cfg, err)
	}
	if namespace, err := source.Namespace(); namespace != "shop" || err != nil {
		t.Errorf("the context names shop, but got %q, %v", namespace, err)
	}
	source.Overrides = clientcmd.ConfigOverrides{CurrentContext: "none"}
	if _, err := source.Load("me/1"); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("a context that doesn't exist: got %v", err)
	}
}

// The error about a kubeconfig names it once, and what it has instead of a missing name.
func TestConfigSourceErrors(t *testing.T) {
	good, broken := writeKubeconfig(t, "good", "https://good"), filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(path string, o clientcmd.ConfigOverrides) ConfigSource {
		return ConfigSource{Path: path, Overrides: o}
	}
	var cluster, user clientcmd.ConfigOverrides
	cluster.Context.Cluster, user.Context.AuthInfo = "none", "none"
	for _, test := range []struct {
		source      ConfigSource
		environment string
		want        string
	}{
		{source: in(good, clientcmd.ConfigOverrides{CurrentContext: "none"}), want: "load the kubeconfig " + good + `: the context "none" does not exist: use one of c, d`},
		{source: in("", clientcmd.ConfigOverrides{CurrentContext: "none"}), environment: good, want: `load the kubeconfig: the context "none" does not exist: use one of c, d`},
		{source: in(good, cluster), want: "load the kubeconfig " + good + `: the cluster "none" does not exist: use one of c, d`},
		{source: in(good, user), want: "load the kubeconfig " + good + `: the user "none" does not exist`},
		{source: in(broken, clientcmd.ConfigOverrides{}), want: "load the kubeconfig " + broken + ": yaml: line 1: did not find expected node content"},
		{environment: broken, want: "load the kubeconfig " + broken + ": yaml: line 1: did not find expected node content"},
		{source: in(filepath.Dir(good), clientcmd.ConfigOverrides{}), want: "load the kubeconfig " + filepath.Dir(good) + ": is a directory"},
	} {
		t.Setenv("KUBECONFIG", test.environment)
		if _, err := test.source.Load("me/1"); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

package kube

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLoadConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, server string) string {
		path := filepath.Join(dir, name)
		content := `{apiVersion: v1, kind: Config, current-context: c,
			clusters: [{name: c, cluster: {server: "` + server + `"}}], contexts: [{name: c, context: {cluster: c}}]}`
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := write("named", "https://named")
	t.Setenv("KUBECONFIG", write("environment", "https://environment"))
	for path, want := range map[string]string{named: "https://named", "": "https://environment"} {
		cfg, err := LoadConfig(path, "me/1")
		if err != nil || cfg.Host != want || cfg.QPS != requestRate {
			t.Errorf("LoadConfig(%q) = %+v, %v; want host %s", path, cfg, err, want)
		}
	}
	if _, err := LoadConfig(filepath.Join(dir, "missing"), "me/1"); err == nil {
		t.Error("a file that doesn't exist was accepted")
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "missing"))
	t.Setenv("HOME", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if cfg, err := LoadConfig("", "me/1"); err == nil {
		t.Errorf("without any configuration LoadConfig returned %+v", cfg)
	}
}

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/kube"
)

// TestUnreachableAPIServer: each command that reads a cluster itself says in one sentence what
// isn't reachable, with the exit code of docs/cli.md.
func TestUnreachableAPIServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	}))
	t.Cleanup(failing.Close)
	servers := map[string]struct{ url, want string }{
		"refuses": {"http://" + closed.Addr().String(), "the API server ADDR can't be reached: dial tcp "},
		"silent":  {"http://" + silent.Addr().String(), "the API server ADDR can't be reached: no answer in time"},
		"503":     {failing.URL, "the API server ADDR can't serve requests: the server is currently unable to handle the request"},
	}
	for name, command := range map[string]struct {
		args []string
		code int
	}{
		"plan":              {[]string{"plan", "--source=service", "--provider=inmemory", "--policy=sync"}, exitFailure},
		"check":             {[]string{"check"}, exitUnknown},
		"check controllers": {[]string{"check", "controllers", "-o", "short"}, exitUnknown},
		"explain":           {[]string{"explain", "svc/web"}, exitUnknown},
		"now":               {[]string{"now"}, exitUnknown},
		"records":           {[]string{"records"}, exitFailure},
		"status":            {[]string{"status"}, exitFailure},
		"get":               {[]string{"get", "web"}, exitFailure},
	} {
		for kind, server := range servers {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
				writeFile(t, kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c,
					clusters: [{name: c, cluster: {server: "`+server.url+`"}}], contexts: [{name: c, context: {cluster: c}}]}`))
				args := append([]string{"--kubeconfig", kubeconfig}, command.args...)
				if kind == "silent" {
					args = append(args, "--timeout", "300ms")
				}
				start := time.Now()
				code, out, errText := runCommand(t.Context(), append(args[2:], args[:2]...)...)
				if took := time.Since(start); took > kube.ReachTimeout {
					t.Errorf("it took %v", took)
				}
				text := out + errText
				want := strings.ReplaceAll(server.want, "ADDR", server.url)
				if code != command.code || strings.Count(text, want) != 1 {
					t.Errorf("exit code %d, want %d and %q once in:\n%s", code, command.code, want, text)
				}
				if lines := strings.Count(errText, "\n"); lines > 1 {
					t.Errorf("there are "+strconv.Itoa(lines)+" lines:\n%s", errText)
				}
			})
		}
	}
}

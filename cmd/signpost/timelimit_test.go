package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/provider/webhook"
)

// TestTimeLimitOfUnresponsiveServer: --timeout limits a command as a whole, also if the API server answers
// that it is there and nothing else.
func TestTimeLimitOfUnresponsiveServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprintln(w, `{"gitVersion": "v1.37.0"}`)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", kubeconfigOf(t, server.URL))
	for _, command := range []string{"plan", "dns --once --metrics-address=127.0.0.1:0"} {
		t.Run(command, func(t *testing.T) {
			args := append(strings.Fields(command), "--timeout=200ms", "--source=service", "--provider=inmemory", "--inmemory-zone=example.org", "--policy=sync")
			start := time.Now()
			code, out, errText := runCommand(t.Context(), args...)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if code != exitFailure {
				t.Errorf("exit code %d, want %d:\n%s%s", code, exitFailure, out, errText)
			}
		})
	}
}

// kubeconfigOf returns the path of a kubeconfig for an API server.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, path, []byte(`{apiVersion: v1, kind: Config, current-context: c,
		clusters: [{name: c, cluster: {server: "`+url+`"}}], contexts: [{name: c, context: {cluster: c}}]}`))
	return path
}

// TestPlanOfUnresponsiveProvider: publishers are planned at the same time, so a provider that doesn't respond
// uses up the time of its own publisher only.
func TestPlanOfUnresponsiveProvider(t *testing.T) {
	asked := make(chan struct{}, 2)
	ask := func(context.Context) { asked <- struct{}{} }
	providers := []string{
		// The first one responds after the others have been asked.
		webhookProvider(t, func(ctx context.Context) {
			for range 2 {
				select {
				case <-asked:
				case <-ctx.Done():
				}
			}
		}),
		webhookProvider(t, ask), webhookProvider(t, ask),
	}
	config := "apiVersion: signpost.dev/v1alpha1\nkind: Config\ndns:\n  publishers:\n"
	for i, url := range providers {
		config += fmt.Sprintf("    - {name: p%d, source: [service], provider: webhook, webhook-provider-url: %q, policy: sync, txt-owner-id: p%d}\n", i, url, i)
	}
	t.Chdir(t.TempDir())
	writeFile(t, "signpost.yaml", []byte(config))
	writeFile(t, "objects.yaml", []byte(planObjects1))
	code, out, errText := runCommand(t.Context(), "plan", "--config=signpost.yaml", "-f", "objects.yaml", "--timeout=20s")
	if code != exitDiffers || strings.Count(out, "create  shop.example.org") != 3 {
		t.Errorf("exit code %d, want %d and three names to create:\n%s%s", code, exitDiffers, out, errText)
	}
}

// webhookProvider serves a provider with an empty zone. It calls a function before its first response.
func webhookProvider(t *testing.T, before func(context.Context)) (url string) {
	var first sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { before(r.Context()) })
		w.Header().Set("Content-Type", webhook.MediaType)
		switch r.URL.Path {
		case "/":
			fmt.Fprintln(w, `{"include": ["example.org"]}`)
		case "/adjustendpoints":
			_, _ = io.Copy(w, r.Body)
		default:
			fmt.Fprintln(w, "[]")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

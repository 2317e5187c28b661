package linked

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/logtest"
)

// internalOnly is what only this process can reach.
const internalOnly = "INTERNAL-ONLY-BODY"

// M10: who may write a Secret pointed its kubeconfig at an internal server, and read what that
// answered in the Event and in /clusters; a redirect led further.
func TestForeignAnswersAreNotTold(t *testing.T) {
	api := kubetest.Start(t)
	var redirected atomic.Bool
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		redirected.Store(true)
		_, _ = w.Write([]byte(internalOnly))
	}))
	t.Cleanup(behind.Close)
	answers := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"failure": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, internalOnly, http.StatusInternalServerError)
		}, "it responds with HTTP status 500"},
		"text": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(internalOnly)) }, "its response isn't that of a Kubernetes API server"},
		"status": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": internalOnly, "reason": internalOnly, "code": 503,
				"details": map[string]any{"name": internalOnly, "causes": []any{map[string]any{"reason": internalOnly, "message": internalOnly}}},
			})
		}, "it responds with HTTP status 503"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, behind.URL, http.StatusFound) }, "it responds with HTTP status 302"},
		"event": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"code":418}}`, internalOnly)
		}, "it responds with HTTP status 404"},
	}
	klogged := captureKlog(t)
	f := start(t, api)
	for name, a := range answers {
		server := httptest.NewServer(a.answer)
		t.Cleanup(server.Close)
		f.create(secretWith(name, kubeconfigWith("{token: t}", `{server: "`+server.URL+`"}`)))
	}
	f.create(secretWith("banner", kubeconfigWith("{token: t}", `{server: "http://`+banner(t)+`"}`)))
	for name, a := range answers {
		f.await(name, Connecting, a.want)
		f.wantEvent("cluster-credentials-"+name, "ClusterUnreadable")
	}
	f.await("banner", Connecting, "its response isn't that of a Kubernetes API server")
	told, err := json.Marshal(f.set.Status())
	if err != nil {
		t.Fatal(err)
	}
	f.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	for where, text := range map[string]string{"/clusters": string(told), "Events": strings.Join(f.events, "\n"), "log": f.log.String(), "log of client-go": klogged()} {
		if i := strings.Index(text, "INTERNAL"); i >= 0 {
			t.Errorf("%s tells what the server answered: …%s…", where, text[max(0, i-200):min(len(text), i+50)])
		}
	}
	if redirected.Load() {
		t.Error("a redirect was followed")
	}
}

// banner is the address of a server that speaks first, and no HTTP.
func banner(t *testing.T) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-" + internalOnly + "\r\n"))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// captureKlog makes client-go log everything, and returns what it has logged.
func captureKlog(t *testing.T) func() string {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	var text logtest.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&text)
	var level klog.Level
	if err := level.Set("10"); err != nil {
		t.Fatal(err)
	}
	return func() string {
		klog.Flush()
		return text.String()
	}
}

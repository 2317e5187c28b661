package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/pipetest"
)

const serversPath = "/apis/policy.linkerd.io/v1beta3/servers"

// runInMemory runs a cluster with one table, whose API server is in memory.
func runInMemory(t *testing.T, http2 bool, handler http.HandlerFunc) *Cluster {
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	listener := pipetest.NewListener()
	server.Listener, server.EnableHTTP2 = listener, http2
	server.StartTLS()
	t.Cleanup(server.Close)
	cfg := &rest.Config{Host: "https://192.0.2.1", Dial: listener.Dial, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if !http2 {
		cfg.NextProtos = []string{"http/1.1"}
	}
	return runWith(t, Options{Config: cfg}, Servers().Table())
}

// An API server that keeps its connections and doesn't respond is asked again after responseTimeout, with
// HTTP/1 and HTTP/2: first for a stream of all objects, then for a list.
func TestSilentServerIsAskedAgain(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan time.Time, 10)
				c := runInMemory(t, http2, func(_ http.ResponseWriter, r *http.Request) {
					if http2 != (r.ProtoMajor == 2) {
						t.Errorf("the request uses %s", r.Proto)
					}
					if r.URL.Path == serversPath {
						asked <- time.Now()
					}
					<-t.Context().Done()
				})
				first := <-asked
				between := (<-asked).Sub(first)
				if between < responseTimeout || between > responseTimeout+30*time.Second { // discovery takes time, too
					t.Errorf("the server is asked again after %v", between)
				}
				time.Sleep(responseTimeout + time.Second)
				if got := c.Status()[0].Detail; !strings.HasSuffix(got, "the API server https://192.0.2.1 can't be reached: no answer in time") {
					t.Errorf("the status says %q", got)
				}
			})
		})
	}
}

// A watch without events lasts longer than the time in which it must begin.
func TestQuietWatchLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watches atomic.Int32
		runInMemory(t, true, func(w http.ResponseWriter, r *http.Request) {
			switch query := r.URL.Query(); {
			case r.URL.Path != serversPath, query.Has("sendInitialEvents"):
				http.Error(w, "unknown", http.StatusUnprocessableEntity)
			case query.Has("watch"):
				watches.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_ = http.NewResponseController(w).Flush()
				<-t.Context().Done()
			default:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"kind":"ServerList","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"resourceVersion":"1"},"items":[]}`)
			}
		})
		time.Sleep(2 * responseTimeout)
		if n := watches.Load(); n != 1 {
			t.Errorf("%d watches", n)
		}
	})
}

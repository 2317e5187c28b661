package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestClientRates(t *testing.T) {
	tests := map[string]struct {
		qps       float64
		burst     int
		wantQPS   float32
		wantBurst int
	}{
		"no limit":              {wantQPS: -1},
		"burst without a limit": {burst: 3, wantQPS: -1},
		"both":                  {qps: 20, burst: 30, wantQPS: 20, wantBurst: 30},
		"no burst":              {qps: 2.5, wantQPS: 2.5, wantBurst: 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := &rest.Config{Host: "http://a.test", UserAgent: "me/1", QPS: 50, Burst: 100}
			cfg := clientConfig{qps: tt.qps, burst: tt.burst}.restConfig(base)
			if cfg.QPS != tt.wantQPS || cfg.Burst != tt.wantBurst || base.QPS != 50 {
				t.Errorf("QPS %v, burst %d", cfg.QPS, cfg.Burst)
			}
			var clients connections
			if _, err := clients.client(base, clientConfig{qps: tt.qps, burst: tt.burst}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Requests that write are sent as protobuf and through the wrapper, and end in time.
func TestClientWrites(t *testing.T) {
	var got http.Header
	slow := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodDelete:
			<-slow
		case http.MethodGet:
			w.WriteHeader(http.StatusOK)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-slow
		default:
			got = r.Header
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	defer close(slow)
	wrapped := 0
	var clients connections
	client, err := clients.client(&rest.Config{Host: server.URL, UserAgent: "me/1"}, clientConfig{
		timeout: 100 * time.Millisecond,
		wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				wrapped++
				return next.RoundTrip(r)
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer clients.closeIdle()
	endpointSlices := client.DiscoveryV1().EndpointSlices("ns")
	if _, err := endpointSlices.Create(t.Context(), &discoveryv1.EndpointSlice{}, metav1.CreateOptions{}); err == nil {
		t.Error("no conflict")
	}
	if accept := got.Get("Accept"); got.Get("Content-Type") != runtime.ContentTypeProtobuf || accept != runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON {
		t.Errorf("Content-Type %s, Accept %s", got.Get("Content-Type"), accept)
	}
	if err := endpointSlices.Delete(t.Context(), "a", metav1.DeleteOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request without an answer: %v", err)
	}
	if _, err := endpointSlices.Get(t.Context(), "a", metav1.GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request with half an answer: %v", err)
	}
	if wrapped != 3 {
		t.Errorf("%d requests were wrapped", wrapped)
	}
}

// A client without a User-Agent is refused.
func TestClientsSayWhoAsks(t *testing.T) {
	var clients connections
	if _, err := clients.client(&rest.Config{Host: "http://a.test"}, clientConfig{}); err == nil || !strings.Contains(err.Error(), "UserAgent") {
		t.Errorf("error %v", err)
	}
	if _, err := clients.dynamic(&rest.Config{Host: "http://a.test"}, clientConfig{}); err == nil {
		t.Error("a dynamic client is made")
	}
}

// A redirected write isn't sent as a GET, and the response to a write is limited.
func TestOddAnswersToWrites(t *testing.T) {
	var large atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			t.Error("the redirect was followed")
		case large.Load():
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			_, _ = w.Write(make([]byte, maxWriteResponse+1))
		default:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
	}))
	defer server.Close()
	var clients connections
	client, err := clients.client(&rest.Config{Host: server.URL, UserAgent: "me/1"}, clientConfig{timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer clients.closeIdle()
	for _, want := range []string{"302", "larger than 16777216 bytes"} {
		_, err := client.DiscoveryV1().EndpointSlices("ns").Create(t.Context(), &discoveryv1.EndpointSlice{}, metav1.CreateOptions{})
		var status apierrors.APIStatus
		if told := fmt.Sprint(err); !strings.Contains(told, want) && !(errors.As(err, &status) && status.Status().Code == http.StatusFound && want == "302") {
			t.Errorf("error %v, want %s", err, want)
		}
		large.Store(true)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// warnings are those that reached the handler of client-go.
type warnings []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

func TestWarningsAreDropped(t *testing.T) {
	var heard warnings
	rest.SetDefaultWarningHandler(&heard)
	t.Cleanup(func() { rest.SetDefaultWarningHandler(rest.WarningLogger{}) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", `299 - "v1 Endpoints is deprecated"`)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	for name, want := range map[string]int{"signpost": 0, "client-go": 1} {
		base := &rest.Config{Host: server.URL}
		config := base
		if name == "signpost" {
			config = clientConfig{}.restConfig(base)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		heard = nil
		if _, err := client.CoreV1().Services("ns").Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) || len(heard) != want {
			t.Errorf("%s: error %v, warnings %q, want %d", name, err, heard, want)
		}
	}
}

// Package reachtest is an API server for tests that forwards ports of pods, which a cluster without kubelets
// can't do. It answers other requests from a list of pods, or passes them on to a real API server. Tests of
// commands start one with [Server.Start] and get its kubeconfig.
//
// # Concurrency
//
// Requests are served concurrently. A Server must not be changed after it was started.
package reachtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Server configures the API server and its forwarding.
type Server struct {
	// Pods are the listed pods, unless Upstream is set.
	Pods []corev1.Pod
	// Upstream is a real API server for everything but the forwarding.
	Upstream *rest.Config
	// Ports are the addresses of servers, by NAMESPACE/POD:PORT.
	Ports map[string]string
	// Protocol restricts how ports are forwarded.
	Protocol Protocol
	// Other handles requests that are neither for pods nor for forwarding. Nil means 404.
	Other http.Handler
}

// Protocol is a protocol for port forwarding.
type Protocol string

// The protocols. The empty one means both.
const (
	SPDY      Protocol = "SPDY"
	WebSocket Protocol = "WebSocket"
	// Neither refuses to forward, and Silent doesn't respond.
	Neither Protocol = "neither"
	Silent  Protocol = "silent"
)

// Pod returns a running pod with our label, whose container has the arguments.
func Pod(namespace, name string, arguments ...string) corev1.Pod {
	return corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": "signpost"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "signpost", Image: "signpost", Args: arguments}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// Start runs the server until the test ends, and returns the path of a kubeconfig for it.
func (s *Server) Start(t testing.TB) (kubeconfig string) {
	t.Helper()
	h := &handler{Server: s, silent: make(chan struct{})}
	if s.Upstream != nil {
		transport, err := rest.TransportFor(s.Upstream)
		if err != nil {
			t.Fatal(err)
		}
		upstream, err := url.Parse(s.Upstream.Host)
		if err != nil {
			t.Fatal(err)
		}
		h.proxy = &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }}
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		close(h.silent)
		server.Close()
		h.forwarded.Wait()
	})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test, clusters: [{name: test, cluster: {server: %q}}],
  users: [{name: test, user: {}}], contexts: [{name: test, context: {cluster: test, user: test}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type handler struct {
	*Server
	proxy     http.Handler
	silent    chan struct{}
	forwarded sync.WaitGroup
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 7 && parts[4] == "pods" && parts[6] == "portforward":
		h.forward(w, r, parts[3]+"/"+parts[5])
	case h.proxy != nil:
		h.proxy.ServeHTTP(w, r)
	case parts[len(parts)-1] == "pods":
		h.list(w, r, parts)
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"gitVersion": "v1.36.0"}`) // the client sees the error
	case h.Other != nil:
		h.Other.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (h *handler) list(w http.ResponseWriter, r *http.Request, parts []string) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, pod := range h.Pods {
		if inNamespace := len(parts) == 3 || parts[3] == pod.Namespace; inNamespace && selector.Matches(labels.Set(pod.Labels)) {
			list.Items = append(list.Items, pod)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // the client sees the error
}

// forward serves the streams of one forwarded port.
func (h *handler) forward(w http.ResponseWriter, r *http.Request, pod string) {
	h.forwarded.Add(1)
	defer h.forwarded.Done()
	s := &session{handler: h, pod: pod, errors: map[string]httpstream.Stream{}}
	var connection httpstream.Connection
	switch asked := protocolOf(r); {
	case h.Protocol == Silent:
		<-h.silent
		return
	case h.Protocol != "" && h.Protocol != asked:
		http.Error(w, "unable to upgrade", http.StatusBadRequest)
		return
	case asked == WebSocket:
		u := websocket.Upgrader{Subprotocols: []string{"SPDY/3.1+" + portforward.PortForwardProtocolV1Name}}
		conn, err := u.Upgrade(w, r, nil)
		if err != nil {
			return // the client has the error
		}
		if connection, err = spdy.NewServerConnection(portforward.NewTunnelingConnection("server", conn), s.stream); err != nil {
			return
		}
	default:
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return // the client has the error
		}
		if connection = spdy.NewResponseUpgrader().UpgradeResponse(w, r, s.stream); connection == nil {
			return
		}
	}
	<-connection.CloseChan()
	_ = connection.Close() // closed already
	s.streams.Wait()
}

func protocolOf(r *http.Request) Protocol {
	if websocket.IsWebSocketUpgrade(r) {
		return WebSocket
	}
	return SPDY
}

// session is the streams of a connection: a pair of streams for each connection to a port.
type session struct {
	*handler
	pod     string
	mu      sync.Mutex
	errors  map[string]httpstream.Stream
	streams sync.WaitGroup
}

func (s *session) stream(stream httpstream.Stream, replied <-chan struct{}) error {
	id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		s.errors[id] = stream
		return nil
	}
	failures, port := s.errors[id], stream.Headers().Get(corev1.PortHeader)
	s.streams.Go(func() {
		<-replied
		if err := s.copy(stream, s.Ports[s.pod+":"+port]); err != nil {
			_, _ = io.WriteString(failures, err.Error()) // only the client needs the error
		}
		_ = failures.Close()
		_ = stream.Close()
	})
	return nil
}

// copy connects a stream with a server.
func (s *session) copy(stream io.ReadWriter, addr string) error {
	conn, err := new(net.Dialer).Dial("tcp", addr)
	if err != nil {
		return err
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, stream)
		_ = conn.(*net.TCPConn).CloseWrite()
	})
	_, err = io.Copy(stream, conn)
	_ = conn.Close()
	if closer, ok := stream.(interface{ Reset() error }); ok {
		_ = closer.Reset()
	}
	back.Wait()
	return err
}

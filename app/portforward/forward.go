package portforward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

type forward struct {
	addr string
	stop chan struct{}
	// done receives the cause when the forwarding has ended.
	done chan error
}

// close ends the forwarding and waits for its end.
func (f *forward) close() {
	close(f.stop)
	<-f.done
}

// startForward forwards a free loopback port to a port of the pod. ctx limits only the wait for the
// connection; afterwards the forwarding lasts until it is closed.
func startForward(ctx context.Context, cfg *rest.Config, pod *corev1.Pod, port int) (*forward, error) {
	dialer, err := newDialer(cfg, pod)
	if err != nil {
		return nil, err
	}
	f := &forward{stop: make(chan struct{}), done: make(chan error, 1)}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesForStreaming(&boundedDialer{ctx, dialer}, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, f.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	go func() { f.done <- forwarder.ForwardPorts() }()
	select {
	case err := <-f.done:
		return nil, explain(err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) != 1 {
		f.close()
		return nil, fmt.Errorf("no port was forwarded: %w", err)
	}
	f.addr = fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
	return f, nil
}

// explain returns an error of client-go without its wrapping, and adds what to do about rights.
func explain(err error) error {
	text := strings.TrimSpace(err.Error())
	for _, wrapping := range []string{"error upgrading connection: ", "unable to upgrade connection: "} {
		text = strings.TrimPrefix(text, wrapping)
	}
	if cause, ok := strings.CutPrefix(text, "error dialing backend: "); ok {
		return errors.New("the API server can't reach the kubelet of its node: " + cause)
	}
	if strings.Contains(text, "forbidden") {
		text += ": the right to create pods/portforward is needed"
	}
	return errors.New(text)
}

// newDialer returns a dialer to the pod through the API server, as in kubectl: over a WebSocket or,
// with API servers before 1.31 and through proxies without WebSockets, over SPDY.
func newDialer(cfg *rest.Config, pod *corev1.Pod) (httpstream.Dialer, error) {
	client, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	target := client.RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return portforward.NewFallbackDialerForStreaming(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// boundedDialer adds a context to client-go's dialers.
type boundedDialer struct {
	//nolint:containedctx // The interface of dialers has none.
	ctx  context.Context
	next httpstream.Dialer
}

// Dial implements httpstream.Dialer.
func (d *boundedDialer) Dial(protocols ...string) (httpstream.Connection, string, error) {
	type dialed struct {
		connection httpstream.Connection
		protocol   string
		err        error
	}
	result := make(chan dialed, 1)
	go func() {
		connection, protocol, err := d.next.Dial(protocols...)
		result <- dialed{connection, protocol, err}
	}()
	select {
	case r := <-result:
		return r.connection, r.protocol, r.err
	case <-d.ctx.Done():
		go func() {
			if r := <-result; r.err == nil {
				_ = r.connection.Close() // the caller has left
			}
		}()
		return nil, "", fmt.Errorf("the API server doesn't answer: %w", context.Cause(d.ctx))
	}
}

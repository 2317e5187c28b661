package process

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// requestTimeout bounds the requests that write.
	requestTimeout = 10 * time.Second
	// dialTimeout is how long a connection may take, as for the tables.
	dialTimeout = 4 * time.Second
	// Events have a limit of their own: they must not delay anything else.
	eventRate, eventBurst = 10, 50

	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
)

// clientConfig says how to talk to the API server.
type clientConfig struct {
	// timeout bounds each request; zero is no bound.
	timeout time.Duration
	// qps and burst limit the requests. Zero qps is no limit, and zero burst is what may
	// be sent within a second.
	qps   float64
	burst int
	// wrap goes around the connections; it may be nil.
	wrap func(http.RoundTripper) http.RoundTripper
}

// connections are those of the clients that were made with it.
type connections struct {
	transports []http.RoundTripper
}

// client returns a client with connections of its own, so that nothing else that the
// process asks for can be in the way.
func (c *connections) client(base *rest.Config, o clientConfig) (*kubernetes.Clientset, error) {
	cfg := o.restConfig(base)
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client for writing: %w", err)
	}
	c.transports = append(c.transports, httpClient.Transport)
	client, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client for writing: %w", err)
	}
	return client, nil
}

// dynamic is client for kinds that aren't built into Kubernetes.
func (c *connections) dynamic(base *rest.Config, o clientConfig) (*dynamic.DynamicClient, error) {
	cfg := o.restConfig(base)
	cfg.ContentType, cfg.AcceptContentTypes = jsonType, jsonType
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client for writing: %w", err)
	}
	c.transports = append(c.transports, httpClient.Transport)
	client, err := dynamic.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client for writing: %w", err)
	}
	return client, nil
}

func (c *connections) closeIdle() {
	for _, t := range c.transports {
		utilnet.CloseIdleConnectionsFor(t)
	}
}

func (o clientConfig) restConfig(base *rest.Config) *rest.Config {
	cfg := rest.CopyConfig(base)
	cfg.ContentType, cfg.AcceptContentTypes = protobufType, protobufType+","+jsonType
	cfg.Timeout = 0
	// A few short requests at a time cost a fifth less without HTTP/2, and a connection
	// that has gone dead holds up one of them only.
	cfg.NextProtos = []string{"http/1.1"}
	cfg.RateLimiter, cfg.QPS, cfg.Burst = nil, -1, 0
	if o.qps > 0 {
		cfg.QPS, cfg.Burst = float32(o.qps), o.burst
	}
	if o.qps > 0 && o.burst == 0 {
		cfg.Burst = int(min(math.Ceil(o.qps), math.MaxInt32))
	}
	// The API server warns about Endpoints; nobody can act on it.
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	if cfg.Dial == nil && cfg.Transport == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	if o.wrap != nil {
		cfg.Wrap(o.wrap)
	}
	if o.timeout > 0 {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bounded{next, o.timeout} })
	}
	return cfg
}

package process

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// requestTimeout limits writes.
	requestTimeout = 10 * time.Second
	// dialTimeout limits the time to connect, as for the tables.
	dialTimeout = 4 * time.Second
	// eventRate and eventBurst limit the Events, so that they delay nothing else.
	eventRate, eventBurst = 10, 50
)

// clientConfig configures a client of the API server.
type clientConfig struct {
	// timeout limits each request; zero means no limit.
	timeout time.Duration
	// qps and burst limit the rate of requests. A qps of zero means no limit. A burst of zero means
	// the requests of one second.
	qps   float64
	burst int
	// wrap wraps the connections; it may be nil.
	wrap func(http.RoundTripper) http.RoundTripper
}

// connections are the connections of the clients that were created with its methods.
type connections struct {
	transports []http.RoundTripper
}

// client returns a client with its own connections, which other requests can't delay.
func (c *connections) client(base *rest.Config, o clientConfig) (*kubernetes.Clientset, error) {
	return makeClient(c, o.restConfig(base), kubernetes.NewForConfigAndClient)
}

// dynamic is client for kinds that aren't built into Kubernetes.
func (c *connections) dynamic(base *rest.Config, o clientConfig) (*dynamic.DynamicClient, error) {
	cfg := o.restConfig(base)
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return makeClient(c, cfg, dynamic.NewForConfigAndClient)
}

func makeClient[C any](c *connections, cfg *rest.Config, build func(*rest.Config, *http.Client) (C, error)) (C, error) {
	var client C
	if cfg.UserAgent == "" {
		return client, fmt.Errorf("make a client of the API server %s: its config has no UserAgent", cfg.Host)
	}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err == nil {
		// A redirected write would become a GET, and seem to succeed.
		httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.transports = append(c.transports, httpClient.Transport)
		client, err = build(cfg, httpClient)
	}
	if err != nil {
		err = fmt.Errorf("make a client of the API server %s: %w", cfg.Host, err)
	}
	return client, err
}

func (c *connections) closeIdle() {
	for _, t := range c.transports {
		utilnet.CloseIdleConnectionsFor(t)
	}
}

func (o clientConfig) restConfig(base *rest.Config) *rest.Config {
	cfg := rest.CopyConfig(base)
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	cfg.Timeout = 0
	// Without HTTP/2, a few short requests in parallel cost a fifth less CPU, and a dead connection
	// blocks only one of them.
	cfg.NextProtos = []string{"http/1.1"}
	cfg.RateLimiter, cfg.QPS, cfg.Burst = nil, -1, 0
	if o.qps > 0 {
		cfg.QPS, cfg.Burst = float32(o.qps), o.burst
	}
	if o.qps > 0 && o.burst == 0 {
		cfg.Burst = int(min(math.Ceil(o.qps), math.MaxInt32))
	}
	// The API server warns that Endpoints are deprecated, which is of no use here.
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	if cfg.Dial == nil && cfg.Transport == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	if o.wrap != nil {
		cfg.Wrap(o.wrap)
	}
	if o.timeout > 0 {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &timeLimited{next, o.timeout} })
	}
	return cfg
}

package measure

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Gateway stands between a program and the API server, and has its own way of passing requests on.
type Gateway struct {
	upstream *url.URL
	Next     http.RoundTripper // of the API server
	addr     string
	server   *http.Server
}

// NewGateway returns a gateway that isn't open yet.
func NewGateway(k *Cluster) (*Gateway, error) {
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.Kubeconfig, err)
	}
	g := &Gateway{}
	if g.upstream, err = url.Parse(config.Host); err != nil {
		return nil, err
	}
	g.Next, err = rest.TransportFor(config)
	return g, err
}

// Open listens on an address. Requests go through the transport, which passes them on to next. A gateway that
// was closed can be opened again.
func (g *Gateway) Open(addr string, through http.RoundTripper) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	g.addr = l.Addr().String()
	g.server = &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(g.upstream) },
			Transport:     through,
			FlushInterval: -1, // watches
			ErrorLog:      log.New(io.Discard, "", 0),
		},
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: time.Minute,
	}
	go func(s *http.Server) { _ = s.Serve(l) }(g.server)
	return nil
}

// Close ends all connections and refuses new ones, as the end of an API server does.
func (g *Gateway) Close() { _ = g.server.Close() }

// Kubeconfig writes a kubeconfig for the gateway.
func (g *Gateway) Kubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["gateway"] = &clientcmdapi.Cluster{Server: "http://" + g.addr}
	config.Contexts["gateway"] = &clientcmdapi.Context{Cluster: "gateway"}
	config.CurrentContext = "gateway"
	return clientcmd.WriteToFile(*config, path)
}

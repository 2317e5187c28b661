package main

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

// gateway stands between a program and the API server, and has its own way of passing requests on.
type gateway struct {
	upstream *url.URL
	next     http.RoundTripper // of the API server
	addr     string
	server   *http.Server
}

// newGateway returns a gateway that isn't open yet.
func newGateway(k *cluster) (*gateway, error) {
	config, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.kubeconfig, err)
	}
	g := &gateway{}
	if g.upstream, err = url.Parse(config.Host); err != nil {
		return nil, err
	}
	g.next, err = rest.TransportFor(config)
	return g, err
}

// open listens on an address. Requests go through the transport, which passes them on to next. A gateway that was
// closed can be opened again.
func (g *gateway) open(addr string, through http.RoundTripper) error {
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

// close ends all connections and refuses new ones, as the end of an API server does.
func (g *gateway) close() { _ = g.server.Close() }

// kubeconfig writes a kubeconfig for the gateway.
func (g *gateway) kubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["gateway"] = &clientcmdapi.Cluster{Server: "http://" + g.addr}
	config.Contexts["gateway"] = &clientcmdapi.Context{Cluster: "gateway"}
	config.CurrentContext = "gateway"
	return clientcmd.WriteToFile(*config, path)
}

package xdsclient

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds"
)

// serve serves web.shop with one endpoint, and returns the address and the catalog.
func serve(t *testing.T) (addr string, known *catalog.Catalog) {
	t.Helper()
	known = catalog.New(catalog.Options{})
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web"}
	known.Put(&catalog.Service{Key: key, Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}}})
	known.Put(endpoints("10.0.0.1"))
	known.MarkSynced()
	server := xds.NewServer(known, xds.Config{}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(server.ServerOptions()...)
	server.Register(g)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = known.Run(ctx) })
	wg.Go(func() { _ = server.Run(ctx) })
	wg.Go(func() { _ = g.Serve(l) })
	t.Cleanup(func() {
		stop()
		g.Stop()
		wg.Wait()
	})
	<-known.Synced()
	return l.Addr().String(), known
}

func endpoints(addresses ...string) *catalog.EndpointSlice {
	s := &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web", AddressType: catalog.IPv4,
		Service: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web"},
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: "http", Port: 8080}}}},
	}
	for _, a := range addresses {
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(a)}})
	}
	return s
}

func TestGet(t *testing.T) {
	addr, _ := serve(t)
	var out strings.Builder
	if err := Get(t.Context(), Options{Target: "web.shop:80", Addr: addr, Timeout: time.Minute}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"web.shop:80\n  route all\n    cluster web.shop.svc.cluster.local:80\n", "priority 0", "        10.0.0.1:8080\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tree lacks %q:\n%s", want, out.String())
		}
	}
}

func TestGetUnknown(t *testing.T) {
	addr, _ := serve(t)
	var out strings.Builder
	if err := Get(t.Context(), Options{Target: "nope.shop:80", Addr: addr, Timeout: time.Minute}, &out); !errors.Is(err, ErrUnknown) {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(out.String(), "nope") {
		t.Errorf("no reason is printed:\n%s", out.String())
	}
}

// A server that doesn't answer is an error after the timeout.
func TestGetTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Get(t.Context(), Options{Target: "web.shop:80", Addr: l.Addr().String(), Timeout: 50 * time.Millisecond}, &strings.Builder{}); err == nil {
		t.Error("no error")
	}
}

// watched makes a change when the first tree is printed, and ends when the second one is.
type watched struct {
	text   strings.Builder
	change func()
	end    func()
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	if w.text.Len() == 0 {
		w.change()
	} else {
		w.end()
	}
	return w.text.Write(p)
}

func TestWatch(t *testing.T) {
	addr, known := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &watched{change: func() { known.Put(endpoints("10.0.0.1", "10.0.0.2")) }, end: cancel}
	if err := Get(ctx, Options{Target: "web.shop:80", Addr: addr, Watch: true, Timeout: time.Minute}, w); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.text.String(), "10.0.0.1:8080"); n != 2 || !strings.Contains(w.text.String(), "10.0.0.2:8080") {
		t.Errorf("printed:\n%s", w.text.String())
	}
}

package destination

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/testkit/heaptest"
	"github.com/signpostd/signpost/testkit/unreadtest"
)

// hosts is a listener whose connections come from the addresses that dial got.
type hosts struct {
	*bufconn.Listener
	from chan netip.AddrPort
}

// Accept implements net.Listener.
func (l hosts) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return connFrom{c, net.TCPAddrFromAddrPort(<-l.from)}, nil
}

type connFrom struct {
	net.Conn
	addr net.Addr
}

// RemoteAddr implements net.Conn.
func (c connFrom) RemoteAddr() net.Addr { return c.addr }

// serveHosts serves another listener, and returns a function that connects from an address.
func (f *fixture) serveHosts() (dial func(from string) net.Conn) {
	l := hosts{bufconn.Listen(1 << 10), make(chan netip.AddrPort, 1)}
	go func() { _ = f.grpc.Serve(f.server.Listener(l)) }()
	return func(from string) net.Conn {
		f.t.Helper()
		l.from <- netip.MustParseAddrPort(from)
		c, err := l.DialContext(context.Background())
		if err != nil {
			f.t.Fatal(err)
		}
		return c
	}
}

// A client opens a call after each change of a Service, and reads none. Each call holds a response
// of its own, which no other call needs, until its connection is closed.
func TestUnreadResponses(t *testing.T) {
	const calls, limit = 60, 4 << 20
	objects, _ := manyEndpoints(1000)
	for name, tt := range map[string]struct {
		path   string
		change func(int) catalog.Object
	}{
		methodGet: {getPath, func(i int) catalog.Object {
			return pod("a", func(w *catalog.Workload) { w.ServiceAccount = fmt.Sprint("account-", i) })
		}},
		methodGetProfile: {getPath, largeProfile},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := testConfig()
				config.Limits = clientlimits.Limits{MaxResponseBytesPerClient: limit}
				f := start(t, config, objects...)
				dial := f.serveHosts()
				f.change([]catalog.Object{tt.change(0)})
				honest := f.get(getPath, "")
				stalled := unreadtest.Dial(t, dial("10.1.0.8:40000"))
				attacker := unreadtest.Dial(t, dial("10.1.0.7:40000"))
				neighbour := unreadtest.Dial(t, dial("10.1.0.7:40001"))
				method := "/io.linkerd.proxy.destination.Destination/" + name
				request := &pb.GetDestination{Path: tt.path}
				for _, c := range []*unreadtest.Client{stalled, neighbour} {
					c.Call(method, request)
				}
				f.settle()
				before, closed := heaptest.InUse(), 0
				for i := range calls {
					f.change([]catalog.Object{tt.change(i + 1)})
					if attacker.IsClosed() {
						attacker = unreadtest.Dial(t, dial("10.1.0.7:40000"))
						closed++
					}
					attacker.Call(method, request)
					time.Sleep(20 * time.Second) // virtual time
					honest.newMessages()         // the test holds none
				}
				if attacker.IsClosed() {
					closed++
				}
				if grown := int(heaptest.InUse() - before); grown > 2*limit {
					t.Errorf("the heap has grown by %d kB", grown>>10)
				}
				if got := f.refusedFor(clientlimits.RefusedUnreadOfClient); closed == 0 || got != float64(closed) {
					t.Errorf("%d connections of the attacker were closed, and %v are counted", closed, got)
				}
				if n := f.metrics()["destination_unread_bytes"]; n <= 0 || n > 2*limit {
					t.Errorf("destination_unread_bytes is %v, and the limit of each host %d", n, limit)
				}
				if neighbour.IsClosed() || stalled.IsClosed() {
					t.Errorf("closed: another connection of the host %v, another host %v", neighbour.IsClosed(), stalled.IsClosed())
				}
				if got := honest.ended(); got != "open" {
					t.Errorf("another client: %s", got)
				}
				honest.cancel()
				f.settle()
			})
		})
	}
}

// largeProfile returns a version of the ServiceProfile of the Service web with some 300 kB.
func largeProfile(version int) catalog.Object {
	var routes []catalog.Route
	for i := range 2000 {
		routes = append(routes, getRoute(func(r *catalog.Route) { r.Name = fmt.Sprintf("%0100d-%d", version, i) }))
	}
	p := webProfile(routes...)
	p.Name = "web.ns.svc.mycluster.local"
	return p
}

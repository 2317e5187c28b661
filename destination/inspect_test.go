package destination

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/signpostd/signpost/catalog"
)

// shown formats a stream.
func shown(o OpenStream) string {
	state := "synced"
	if o.Behind() {
		state = "behind"
	}
	return fmt.Sprintf("%s %s %s/%s@%s filter=%d%s %d endpoints %d/%d %s lag=%v", o.Method, o.Target, o.Namespace, o.Pod, o.Node,
		o.Filter.Kind, o.Filter.Zone+o.Filter.Node, o.Endpoints, o.Sent, o.Current, state, o.Lag)
}

func (f *fixture) formatStreams() []string {
	var all []string
	list := f.server.OpenStreams()
	slices.SortFunc(list, func(a, b OpenStream) int { return int(a.ID) - int(b.ID) })
	for _, o := range list {
		all = append(all, shown(o))
	}
	return all
}

// A stream is listed with its client and progress, also when its view changes.
func TestOpenStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"), nodeIn("n1", "east"), pod("a"), pod("b"), slice("s", at("10.0.0.1", podKey("a"))))
		begun := time.Now()
		f.get(getPath, `{"ns":"shop","nodeName":"n1","pod":"cart-1"}`)
		f.settle()
		f.get("h."+getPath, `{"pod":"`+strings.Repeat("x", maxPod+1)+`","ns":"shop"}`)
		f.settle()
		want := func(when string, want ...string) {
			t.Helper()
			if got := f.formatStreams(); !slices.Equal(got, want) {
				t.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		const hostname = "Get h.web.ns.svc.mycluster.local:80 shop/@ filter=0 0 endpoints 1/1 synced lag=0s"
		want("at first", "Get web.ns.svc.mycluster.local:80 shop/cart-1@n1 filter=0 1 endpoints 1/1 synced lag=0s", hostname)
		f.change(put(slice("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))))
		want("after a change", "Get web.ns.svc.mycluster.local:80 shop/cart-1@n1 filter=0 2 endpoints 2/2 synced lag=0s", hostname)
		f.change(put(slice("s", at("10.0.0.1", podKey("a"), inZone("east")), at("10.0.0.2", podKey("b")))))
		want("in another view", "Get web.ns.svc.mycluster.local:80 shop/cart-1@n1 filter=1east 2 endpoints 1/1 synced lag=0s",
			"Get h.web.ns.svc.mycluster.local:80 shop/@ filter=0 0 endpoints 2/2 synced lag=0s")
		first := f.server.OpenStreams()
		if slices.ContainsFunc(first, func(o OpenStream) bool { return o.Opened.Before(begun) || o.Opened.After(time.Now()) }) {
			t.Errorf("opened: %v", first)
		}
		if some, all := f.server.StreamsOfService(serviceKey("web"), 1); all != 2 || len(some) != 1 {
			t.Errorf("%d of %d streams of the Service", len(some), all)
		}
		if _, all := f.server.StreamsOfService(serviceKey("other"), 1); all != 0 {
			t.Errorf("%d streams of another Service", all)
		}
	})
}

// A client that doesn't read is behind, and is counted after a while.
func TestStreamBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, change := stalled(t)
		slow := f.getStalled(getPath, "")
		f.settle()
		change()
		time.Sleep(2 * time.Second)
		list := f.server.OpenStreams()
		if len(list) != 1 || !list[0].Behind() || list[0].Lag < time.Second || list[0].Sent >= list[0].Current {
			t.Errorf("%+v", list)
		}
		if open, behind := f.server.CountStreams(time.Second); open != 1 || behind != 1 {
			t.Errorf("%d of %d streams are behind", behind, open)
		}
		close(slow.reads)
		f.settle()
		if list := f.server.OpenStreams(); list[0].Behind() {
			t.Errorf("%+v", list)
		}
		if open, behind := f.server.CountStreams(time.Second); open != 1 || behind != 0 {
			t.Errorf("%d of %d streams are behind", behind, open)
		}
	})
}

// The profile stream of an address of a Service is listed under the Service.
func TestOpenProfileStreams(t *testing.T) {
	objects := []catalog.Object{profileService("web", withClusterIPs("10.96.0.10")), profilePod("a", "10.0.0.7")}
	withProfileServer(t, objects, func(t *testing.T, s *profileServer) {
		clients := []*profileClient{s.open("10.96.0.10:80", `{"ns":"shop","pod":"cart-1","nodeName":"n1"}`), s.open("10.0.0.7:80", ""), s.open("web.ns.svc.cluster.local:80", "ns:shop")}
		list := s.server.OpenStreams()
		slices.SortFunc(list, func(a, b OpenStream) int { return int(a.ID) - int(b.ID) })
		var got []string
		for _, o := range list {
			got = append(got, o.Target+" of "+o.Service.Name+" for "+o.Namespace+"/"+o.Pod+"@"+o.Node)
			if o.Behind() || o.Sent != 1 || o.Method != "GetProfile" {
				t.Errorf("%+v", o)
			}
		}
		want := []string{"10.96.0.10:80 of web for shop/cart-1@n1", "10.0.0.7:80 of  for /@", "web.ns.svc.cluster.local:80 of web for shop/@"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		s.put(profileService("web", withClusterIPs("10.96.0.10"), withOpaquePorts("80")))
		for _, o := range s.server.OpenStreams() {
			if o.Service.Name == "web" && (o.Sent != 2 || o.Current != 2) {
				t.Errorf("after a change: %+v", o)
			}
		}
		for _, c := range clients {
			c.close()
		}
	})
}

// The data of a stream for the list is small, because there are tens of thousands of streams.
func TestStreamSize(t *testing.T) {
	if size := unsafe.Sizeof(caller{}); size > 96 {
		t.Errorf("the caller of a stream has %d bytes", size)
	}
}

// BenchmarkOpenStreams lists 10,000 streams.
func BenchmarkOpenStreams(b *testing.B) {
	s := &Server{config: &Config{ClusterDomain: "cluster.local"}}
	sub := &topic{query: query{service: serviceKey("web"), port: 80}}
	v := &view{}
	v.current.Store(&response{})
	for i := range 10_000 {
		st := &stream{server: s, topic: sub, node: "n1", caller: caller{id: uint64(i)}}
		st.view.Store(v)
		s.getStreams.Add(st)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(s.OpenStreams()); n != 10_000 {
			b.Fatal(n)
		}
	}
}

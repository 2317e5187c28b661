package destination

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/precoded"
)

// maxMessage is the largest message that a proxy's gRPC client accepts (§11.3).
const maxMessage = 4 << 20

// encoded encodes a message whose text is UTF-8.
func encoded(m proto.Message) []byte {
	b, err := marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func entryOf(a *pb.WeightedAddr) *entry {
	return &entry{catalog.Endpoint{Addr: addrPortOf(a.GetAddr())}, encoded(a), &labels{}}
}

// drawEntries draws a set with few addresses in few variants, sorted by address.
func drawEntries() *rapid.Generator[[]*entry] {
	ports := rapid.SliceOfNDistinct(rapid.Uint16Range(1, 6), 0, 6, rapid.ID)
	return rapid.Custom(func(t *rapid.T) []*entry {
		var list []*entry
		for _, ip := range []string{"10.0.0.1", "fd00::1"} {
			set := ports.Draw(t, ip)
			slices.Sort(set)
			for _, p := range set {
				a := &pb.WeightedAddr{Addr: tcpAddress(netip.AddrPortFrom(netip.MustParseAddr(ip), p)), Weight: rapid.SampledFrom([]uint32{1, 2}).Draw(t, "weight")}
				if rapid.Bool().Draw(t, "labelled") {
					a.MetricLabels = map[string]string{"zone": "east", "pod": "a"}
				}
				e := entryOf(a)
				e.labels = &labels{wire: drawLabels().Draw(t, "labels")}
				list = append(list, e)
			}
		}
		return list
	})
}

func drawLabels() *rapid.Generator[[]byte] {
	return rapid.SampledFrom([][]byte{
		encodeLabels(nil).wire, encodeLabels(map[string]string{"service": "web", "namespace": "ns"}).wire, encodeLabels(map[string]string{"service": "web", "target_cluster": "west"}).wire,
	})
}

// labelAll sets the labels of all entries.
func labelAll(entries []*entry, common []byte) {
	for _, e := range entries {
		e.labels = &labels{wire: common}
	}
}

func decode(t testing.TB, f *frame) *pb.Update {
	t.Helper()
	var u pb.Update
	if err := proto.Unmarshal(f.bytes.Materialize(), &u); err != nil {
		t.Fatalf("invalid frame: %v", err)
	}
	return &u
}

// add returns the message that addFrames should give.
func add(t testing.TB, entries []*entry, labels []byte) *pb.Update {
	t.Helper()
	set := &pb.WeightedAddrSet{}
	if err := proto.Unmarshal(labels, set); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var a pb.WeightedAddr
		if err := proto.Unmarshal(e.wire, &a); err != nil {
			t.Fatal(err)
		}
		set.Addrs = append(set.Addrs, &a)
	}
	return &pb.Update{Update: &pb.Update_Add{Add: set}}
}

func remove(entries []*entry) *pb.Update {
	set := &pb.AddrSet{}
	for _, e := range entries {
		set.Addrs = append(set.Addrs, tcpAddress(e.endpoint.Addr))
	}
	return &pb.Update{Update: &pb.Update_Remove{Remove: set}}
}

// Frames that are composed of encoded parts equal, byte for byte, the messages of the protobuf library.
func TestFramesAreMessages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries, common := drawEntries().Draw(rt, "entries"), drawLabels().Draw(rt, "labels")
		labelAll(entries, common)
		for name, tc := range map[string]struct {
			got  []*frame
			want *pb.Update
		}{
			"add":    {addFrames(entries), add(t, entries, common)},
			"remove": {removeFrames(entries), remove(entries)},
		} {
			if len(entries) == 0 {
				if len(tc.got) != 0 {
					rt.Errorf("%s: %d frames for no entries", name, len(tc.got))
				}
				continue
			}
			if len(tc.got) != 1 {
				rt.Fatalf("%s: %d frames, want 1", name, len(tc.got))
			}
			if diff := cmp.Diff(tc.want, decode(t, tc.got[0]), protocmp.Transform()); diff != "" {
				rt.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if !bytes.Equal(encoded(tc.want), tc.got[0].bytes.Materialize()) {
				rt.Errorf("%s: other bytes than proto.Marshal gives", name)
			}
		}
	})
}

func TestNoEndpointsFrame(t *testing.T) {
	for _, exists := range []bool{true, false} {
		want := &pb.Update{Update: &pb.Update_NoEndpoints{NoEndpoints: &pb.NoEndpoints{Exists: exists}}}
		if diff := cmp.Diff(want, decode(t, noEndpointsFrame(exists)), protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// padded returns n entries, each with an unknown field of the given size.
func padded(n, size int) []*entry {
	list := make([]*entry, 0, n)
	for i := range n {
		ip := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		e := entryOf(&pb.WeightedAddr{Addr: tcpAddress(netip.AddrPortFrom(ip, 80))})
		if size > 0 {
			e.wire = protowire.AppendTag(e.wire, 1000, protowire.BytesType)
			e.wire = protowire.AppendBytes(e.wire, make([]byte, size))
		}
		list = append(list, e)
	}
	return list
}

// A set that is too large for one message is split. Together the messages have all endpoints in order, and
// none is empty.
func TestFramesAreSplit(t *testing.T) {
	common := encodeLabels(map[string]string{"service": "web"}).wire
	for name, tc := range map[string]struct {
		entries       []*entry
		adds, removes int
	}{
		"one":                         {padded(1, 0), 1, 1},
		"fits":                        {padded(100, 20_000), 1, 1},
		"just too large":              {padded(110, 20_000), 2, 1},
		"several":                     {padded(10, 1<<20), 10, 1},
		"one that alone is too large": {padded(1, 3<<20), 1, 1},
		"each is too large":           {padded(3, 3<<20), 3, 1},
		"many small ones":             {padded(195_000, 0), 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			labelAll(tc.entries, common)
			adds, removes := addFrames(tc.entries), removeFrames(tc.entries)
			if len(adds) != tc.adds || len(removes) != tc.removes {
				t.Errorf("%d adds and %d removes, want %d and %d", len(adds), len(removes), tc.adds, tc.removes)
			}
			var added, removed []netip.AddrPort
			for _, f := range append(adds, removes...) {
				if size := f.bytes.Len(); size >= maxMessage {
					t.Errorf("a message of %d bytes", size)
				}
				u := decode(t, f)
				for _, a := range u.GetAdd().GetAddrs() {
					added = append(added, addrPortOf(a.GetAddr()))
				}
				for _, a := range u.GetRemove().GetAddrs() {
					removed = append(removed, addrPortOf(a))
				}
				if u.GetAdd() != nil && u.GetAdd().GetMetricLabels()["service"] != "web" {
					t.Error("an add without its labels")
				}
				if len(u.GetAdd().GetAddrs())+len(u.GetRemove().GetAddrs()) == 0 {
					t.Error("an empty message")
				}
			}
			var want []netip.AddrPort
			for _, e := range tc.entries {
				want = append(want, e.endpoint.Addr)
			}
			if !slices.Equal(want, added) || !slices.Equal(want, removed) {
				t.Errorf("%d were added and %d removed, want all %d, in order", len(added), len(removed), len(want))
			}
		})
	}
}

// A frame is sent unchanged, any number of times. Other messages are encoded as usual.
func TestCodec(t *testing.T) {
	c := precoded.NewCodec()
	if c.Name() != "proto" {
		t.Errorf("its name is %q; clients ask for proto", c.Name())
	}
	request := &pb.GetDestination{Path: "web", ContextToken: "ns:a"}
	plain := encoded(request)
	f := newFrame(plain)
	for name, v := range map[string]any{"frame": &f.bytes, "frame again": &f.bytes, "message": request} {
		got, err := c.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(got.Materialize(), plain) {
			t.Errorf("%s: other bytes", name)
		}
		if name != "message" && &got.Materialize()[0] != &plain[0] && &got[0].ReadOnlyData()[0] != &plain[0] {
			t.Errorf("%s: the bytes were copied", name)
		}
		var back pb.GetDestination
		if err := c.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(request, &back, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		got.Free()
	}
	if _, err := c.Marshal("no message"); err == nil {
		t.Error("encoded a string")
	}
}

func TestMarshalIsDeterministic(t *testing.T) {
	labels := map[string]string{}
	for i := range 20 {
		labels[fmt.Sprint(i)] = "x"
	}
	want := encodeLabels(labels).wire
	for range 20 {
		if !bytes.Equal(want, encodeLabels(labels).wire) {
			t.Fatal("equal messages have different bytes")
		}
	}
}

// The labels of an address and of a set are encoded like by proto, and equal labels have equal bytes.
func TestLabelsAsProto(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "labels")
		want := &pb.WeightedAddr{Weight: 1, MetricLabels: labels}
		wire, err := marshalAddr(proto.CloneOf(want))
		if err != nil {
			t.Fatal(err)
		}
		got := &pb.WeightedAddr{}
		if err := proto.Unmarshal(wire, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Fatal(diff)
		}
		if again, _ := marshalAddr(proto.CloneOf(want)); !bytes.Equal(again, wire) {
			t.Fatalf("%x, then %x", wire, again)
		}
		set := encodeLabels(labels)
		if cap(set.wire) != len(set.wire) || cap(wire) != len(wire) {
			t.Fatalf("%d and %d bytes of capacity are unused", cap(set.wire)-len(set.wire), cap(wire)-len(wire))
		}
		if asProto := encoded(&pb.WeightedAddrSet{MetricLabels: labels}); !bytes.Equal(set.wire, asProto) {
			t.Fatalf("%x, want %x", set.wire, asProto)
		}
	})
}

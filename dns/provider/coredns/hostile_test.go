package coredns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// hostileKV answers each range with what a function returns for the n-th one.
type hostileKV struct {
	pb.UnimplementedKVServer
	asked  atomic.Int64
	answer func(n int, size int64) *pb.RangeResponse
}

// Range implements the server of etcd.
func (h *hostileKV) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return h.answer(int(h.asked.Add(1)), r.Limit), nil
}

func keys(first, count int, value string) (list []*mvccpb.KeyValue) {
	for i := range count {
		list = append(list, &mvccpb.KeyValue{Key: fmt.Appendf(nil, "/skydns/test/shop/r%09d", first+i), Value: []byte(value)})
	}
	return list
}

// Keys without an end, keys that come again, and answers that are too large are errors, and leave
// nothing behind (tenants S9).
func TestHostileEtcd(t *testing.T) {
	more := func(kvs []*mvccpb.KeyValue) *pb.RangeResponse {
		return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 1}, More: true, Kvs: kvs}
	}
	// Encoded already, because encoding each key under the race detector takes longer than the client waits.
	emptyKeys := &pb.RangeResponse{More: true}
	emptyKeys.ProtoReflect().SetUnknown(bytes.Repeat([]byte{2<<3 | 2, 0}, 1_100_000))
	for name, test := range map[string]struct {
		answer func(n int, size int64) *pb.RangeResponse
		want   string
	}{
		"endless pages":         {func(n int, _ int64) *pb.RangeResponse { return more(keys(100*n, 100, `{"host":"192.0.2.1"}`)) }, "more than"},
		"endless pages of 2 kB": {func(n int, _ int64) *pb.RangeResponse { return more(keys(100*n, 100, strings.Repeat("x", 2000))) }, "need more than"},
		"pages that alternate":  {func(n int, _ int64) *pb.RangeResponse { return more(keys(n%2, 1, "")) }, "has no end"},
		"more after nothing":    {func(int, int64) *pb.RangeResponse { return more(nil) }, "has no end"},
		"empty keys":            {func(int, int64) *pb.RangeResponse { return emptyKeys }, "larger than max"},
		"a large key":           {func(int, int64) *pb.RangeResponse { return more(keys(1, 1, strings.Repeat("x", 8<<20))) }, "larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			kv := &hostileKV{answer: test.answer}
			server := grpc.NewServer()
			pb.RegisterKVServer(server, kv)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = server.Serve(listener)
			}()
			defer func() {
				server.Stop()
				<-done
			}()
			t.Setenv("ETCD_URLS", "http://"+listener.Addr().String())
			in := input("")
			in.Budget = listlimit.New(listlimit.Limits{ZoneRecords: 2000})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, err := (&Config{Prefix: "/skydns/"}).Open(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			sets, err := p.Records(ctx, dns.Zone{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, listlimit.ErrExceeded) {
				t.Errorf("%d record sets, %v", len(sets), err)
			}
			if n := kv.asked.Load(); n > 110 {
				t.Errorf("%d pages were asked for", n)
			}
			if records, bytes := in.Budget.Used(); records != 0 || bytes != 0 {
				t.Errorf("%d record sets and %d bytes count as kept", records, bytes)
			}
		})
	}
}

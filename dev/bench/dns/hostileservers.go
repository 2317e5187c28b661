package dns

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	mdns "github.com/miekg/dns"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/testkit/hostiletest"
)

// hostileServers are the attacks that aren't over HTTP.
var hostileServers = []struct {
	provider, name string
	serve          func() (address string, stop func(), err error)
}{
	{"coredns", "endless pages of keys", hostileEtcd(func(n int) []*mvccpb.KeyValue { return hostileKeys(1000*n, 1000, `{"host":"192.0.2.1"}`) })},
	{"coredns", "endless pages of keys of 1.5 kB", hostileEtcd(func(n int) []*mvccpb.KeyValue { return hostileKeys(1000*n, 1000, strings.Repeat("x", 1500)) })},
	{"coredns", "2 MB of empty keys", hostileEtcd(func(int) []*mvccpb.KeyValue {
		kvs := make([]*mvccpb.KeyValue, 1<<20-64)
		for i := range kvs {
			kvs[i] = &mvccpb.KeyValue{}
		}
		return kvs
	})},
	{"rfc2136", "endless transfer of record sets", hostileTransfer("r%d.shop.test. 60 IN A 192.0.2.1")},
	{"rfc2136", "endless transfer of one record set", hostileTransfer(`r.shop.test. 60 IN TXT "%d ` + strings.Repeat("x", 200) + `"`)},
	{"rfc2136", "endless transfer of types that are not kept", hostileTransfer("r.shop.test. 60 IN DNSKEY 256 3 8 " + strings.Repeat("AAAA", 80))},
}

// hostileTransfer returns a DNS server whose transfers have no end. The form is that of a record,
// with a number.
func hostileTransfer(form string) func() (string, func(), error) {
	return func() (string, func(), error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, err
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				transferForEver(&mdns.Conn{Conn: conn}, form)
			}
		}()
		return l.Addr().String(), func() { l.Close() }, nil
	}
}

// transferForEver answers a transfer until the other end closes the connection.
func transferForEver(conn *mdns.Conn, form string) {
	defer conn.Close()
	query, err := conn.ReadMsg()
	if err != nil {
		return
	}
	const each = 100
	for n := 0; err == nil; n += each {
		reply := new(mdns.Msg)
		reply.SetReply(query)
		reply.Compress = true
		var rr mdns.RR
		if n == 0 {
			if rr, err = mdns.NewRR(hostiletest.Zone + ". 60 IN SOA ns.shop.test. admin.shop.test. 1 1 1 1 1"); err == nil {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		for i := range each {
			if rr, err = mdns.NewRR(strings.Replace(form, "%d", strconv.Itoa(n+i), 1)); err == nil {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		if err == nil {
			err = conn.WriteMsg(reply)
		}
		if n > 0 && !strings.Contains(form, "%d") {
			// All messages are the same from here on.
			repeatForEver(conn, reply)
			return
		}
	}
}

// repeatForEver sends a message until the other end closes the connection.
func repeatForEver(conn *mdns.Conn, m *mdns.Msg) {
	packed, err := m.Pack()
	for err == nil {
		_, err = conn.Write(packed)
	}
}

// hostileKV is an etcd that has keys without an end.
type hostileKV struct {
	pb.UnimplementedKVServer
	asked atomic.Int64
	keys  func(n int) []*mvccpb.KeyValue
}

// Range implements the server of etcd.
func (h *hostileKV) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 1}, More: true, Kvs: h.keys(int(h.asked.Add(1)))}, nil
}

func hostileEtcd(keys func(n int) []*mvccpb.KeyValue) func() (string, func(), error) {
	return func() (string, func(), error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, err
		}
		server := grpc.NewServer()
		pb.RegisterKVServer(server, &hostileKV{keys: keys})
		// It ends with an error when it is stopped.
		go func() { _ = server.Serve(l) }()
		return "http://" + l.Addr().String(), server.Stop, nil
	}
}

func hostileKeys(first, count int, value string) []*mvccpb.KeyValue {
	kvs := make([]*mvccpb.KeyValue, count)
	for i := range kvs {
		kvs[i] = &mvccpb.KeyValue{Key: fmt.Appendf(nil, "/skydns/test/shop/r%09d", first+i), Value: []byte(value)}
	}
	return kvs
}

package rfc2136

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// endlessTransfer answers a transfer with messages without an end, each with the records that a
// function returns. It counts the messages.
func endlessTransfer(sent *atomic.Int64, records func(n int) []mdns.RR) func(net.Conn) {
	return func(conn net.Conn) {
		c := &mdns.Conn{Conn: conn}
		query, err := c.ReadMsg()
		if err != nil {
			return
		}
		for n := 0; ; n++ {
			reply := new(mdns.Msg)
			reply.SetReply(query)
			if n == 0 {
				reply.Answer = append(reply.Answer, mustRR("shop.test. 60 IN SOA ns.shop.test. admin.shop.test. 1 1 1 1 1"))
			}
			reply.Answer = append(reply.Answer, records(n)...)
			if c.WriteMsg(reply) != nil {
				return
			}
			sent.Add(1)
		}
	}
}

func mustRR(text string) mdns.RR {
	rr, err := mdns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return rr
}

// A transfer without an end is an error, whatever it consists of, and leaves nothing behind
// (tenants S9).
func TestHostileTransfer(t *testing.T) {
	const each = 50
	for name, test := range map[string]struct {
		record func(i int) string
		want   string
	}{
		"record sets":    {func(i int) string { return fmt.Sprintf("r%d.shop.test. 60 IN A 192.0.2.1", i) }, "more than 2000 record sets"},
		"one record set": {func(i int) string { return fmt.Sprintf(`r.shop.test. 60 IN TXT "%d %s"`, i, strings.Repeat("x", 200)) }, "need more than"},
		"types that are not kept": {func(i int) string {
			return fmt.Sprintf("r%d.shop.test. 60 IN DNSKEY 256 3 8 %s", i, strings.Repeat("AAAA", 80))
		}, "sent more than"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			address := listen(t, endlessTransfer(&sent, func(n int) []mdns.RR {
				var list []mdns.RR
				for i := range each {
					list = append(list, mustRR(test.record(n*each+i)))
				}
				return list
			}))
			host, port, _ := strings.Cut(address, ":")
			in := input()
			in.Budget = listlimit.New(listlimit.Limits{ZoneRecords: 2000})
			c := Plugin().New().(*Config)
			c.Hosts, c.Zones, c.Insecure, c.AXFR = []string{host}, []string{"shop.test"}, true, true
			if _, err := fmt.Sscan(port, &c.Port); err != nil {
				t.Fatal(err)
			}
			p, err := c.Open(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			sets, err := p.Records(t.Context(), dns.Zone{ID: "shop.test", Name: "shop.test"})
			if !errors.Is(err, listlimit.ErrExceeded) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "shop.test") {
				t.Errorf("%d record sets, %v", len(sets), err)
			}
			// 2,000 record sets may have 800,000 bytes, four times as many may be received, and the
			// buffers of the connection have some more.
			if n := sent.Load(); n > 2000 {
				t.Errorf("the server could send %d messages", n)
			}
			if records, bytes := in.Budget.Used(); records != 0 || bytes != 0 {
				t.Errorf("%d record sets and %d bytes count as kept", records, bytes)
			}
		})
	}
}

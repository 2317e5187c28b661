package network_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const (
	keyName = "lab."
	secret  = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
)

// names is a DNS in front of a BIND whose zone only the key may change.
type names struct {
	*network.DNS
	t        *testing.T
	recorder *history.Recorder
	bind     *bindtest.Server
}

func newNames(t *testing.T) names {
	t.Helper()
	bind := bindtest.Serve(t, bindtest.Config{
		Zones: []bindtest.Zone{{Name: "lab.example", Key: "lab", Records: "www A 192.0.2.1"}},
		Keys:  []bindtest.Key{{Name: "lab", Algorithm: "hmac-sha256", Secret: secret}},
	})
	n := names{t: t, recorder: historytest.NewRecorder(t), bind: bind}
	var err error
	if n.DNS, err = network.NewDNS(n.recorder, "replica-a", bind.Addr.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func client() *mdns.Client {
	return &mdns.Client{Net: "tcp", Timeout: soon, TsigSecret: map[string]string{keyName: secret}}
}

// addText returns a signed UPDATE that adds a TXT record to each name.
func addText(owners ...string) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate("lab.example.")
	for _, owner := range owners {
		m.Insert([]mdns.RR{&mdns.TXT{Hdr: mdns.RR_Header{Name: owner, Rrtype: mdns.TypeTXT, Ttl: 60}, Txt: []string{"x"}}})
	}
	m.SetTsig(keyName, mdns.HmacSHA256, 300, time.Now().Unix())
	return m
}

// exchange sends a message through the DNS.
func (n names) exchange(c *mdns.Client, m *mdns.Msg) (*mdns.Msg, error) {
	reply, _, err := c.ExchangeContext(n.t.Context(), m, n.Addr())
	return reply, err
}

// has reports whether the zone has a TXT record, without using the DNS.
func (n names) has(owner string) bool {
	n.t.Helper()
	m := new(mdns.Msg)
	m.SetQuestion(owner, mdns.TypeTXT)
	reply, _, err := client().ExchangeContext(n.t.Context(), m, n.bind.Addr.String())
	if err != nil {
		n.t.Fatal(err)
	}
	return len(reply.Answer) == 1
}

// recorded waits for the recorded writes.
func (n names) recorded(want ...history.Write) {
	n.t.Helper()
	kubetest.Eventually(n.t, soon, func() error {
		var got []history.Write
		for _, e := range writes(n.recorder) {
			if e.At <= 0 || (e.Write.Responded != 0 && e.Write.Responded <= e.At) {
				return fmt.Errorf("it arrived at %v and was answered at %v", e.At, e.Write.Responded)
			}
			if (e.Write.Responded == 0) != (e.Write.Status == -1) {
				return fmt.Errorf("status %d was answered at %v", e.Write.Status, e.Write.Responded)
			}
			if m := new(mdns.Msg); m.Unpack(e.Write.Update.Message) != nil || m.Opcode != mdns.OpcodeUpdate || len(m.Ns) < len(e.Write.Update.Names) {
				return fmt.Errorf("the message is %x", e.Write.Update.Message)
			}
			got = append(got, *e.Write)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(history.Write{}, "Responded"), cmpopts.IgnoreFields(history.UpdateWrite{}, "Message")); diff != "" {
			return fmt.Errorf("recorded (-want +got):\n%s", diff)
		}
		return nil
	})
}

// wrote returns the expected record of an UPDATE.
func wrote(status int, owners ...string) history.Write {
	return history.Write{Replica: "replica-a", Status: status, Update: &history.UpdateWrite{Zone: "lab.example.", Names: owners}}
}

// TestDNSPasses shows that signatures stay valid in both directions, and that only updates are recorded.
func TestDNSPasses(t *testing.T) {
	n := newNames(t)
	c := client()
	query := new(mdns.Msg)
	query.SetQuestion("www.lab.example.", mdns.TypeA)
	if reply, err := n.exchange(c, query); err != nil || len(reply.Answer) != 1 {
		t.Errorf("query: %v, %v", reply, err)
	}
	reply, err := n.exchange(c, addText("A.lab.example.", "b.lab.example.", "a.lab.example."))
	if err != nil || reply.Rcode != mdns.RcodeSuccess || reply.IsTsig() == nil {
		t.Errorf("update: %v, %v", reply, err)
	}
	if !n.has("a.lab.example.") || !n.has("b.lab.example.") {
		t.Error("the zone wasn't changed")
	}
	unsigned := addText("c.lab.example.")
	unsigned.Extra = nil
	if reply, err := n.exchange(c, unsigned); err != nil || reply.Rcode != mdns.RcodeRefused {
		t.Errorf("update without a signature: %v, %v", reply, err)
	}
	n.recorded(wrote(mdns.RcodeSuccess, "a.lab.example.", "b.lab.example."), wrote(mdns.RcodeRefused, "c.lab.example."))
}

// A transfer is many messages under one signature. It follows one large update.
func TestDNSPassesTransfers(t *testing.T) {
	n := newNames(t)
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf("name-%d-%s.lab.example.", i, strings.Repeat("x", 40)))
	}
	if reply, err := n.exchange(client(), addText(many...)); err != nil || reply.Rcode != mdns.RcodeSuccess {
		t.Fatalf("update: %v, %v", reply, err)
	}
	axfr := new(mdns.Msg)
	axfr.SetAxfr("lab.example.")
	axfr.SetTsig(keyName, mdns.HmacSHA256, 300, time.Now().Unix())
	transfer := &mdns.Transfer{TsigSecret: client().TsigSecret}
	envelopes, err := transfer.In(axfr, n.Addr())
	if err != nil {
		t.Fatal(err)
	}
	messages, records := 0, 0
	for e := range envelopes {
		messages++
		if e.Error != nil {
			t.Fatal(e.Error)
		}
		records += len(e.RR)
	}
	if messages < 2 || records < len(many) {
		t.Errorf("the transfer has %d messages with %d records", messages, records)
	}
	transfer.Close()
	n.recorded(wrote(mdns.RcodeSuccess, many...))
}

// TestDNSDrops shows that the client gets no response to a dropped message, and that an update with a dropped
// response was applied.
func TestDNSDrops(t *testing.T) {
	n := newNames(t)
	impatient := client()
	impatient.Timeout = 5 * silence
	for i, drop := range []func(float64, uint64) func(){n.DropRequests, n.DropResponses} {
		owner := fmt.Sprintf("drop-%d.lab.example.", i)
		end := drop(1, 0)
		if reply, err := n.exchange(impatient, addText(owner)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v, %v", owner, reply, err)
		}
		if applied := i == 1; n.has(owner) != applied {
			t.Errorf("%s: is there: %v", owner, !applied)
		}
		end()
	}
	if reply, err := n.exchange(client(), addText("in-the-end.lab.example.")); err != nil || reply.Rcode != mdns.RcodeSuccess {
		t.Errorf("in the end: %v, %v", reply, err)
	}
	n.recorded(wrote(-1, "drop-0.lab.example."), wrote(-1, "drop-1.lab.example."), wrote(0, "in-the-end.lab.example."))
}

// TestDNSDropsAShare shows that a share of the messages is dropped, and that the seed determines which ones.
func TestDNSDropsAShare(t *testing.T) {
	// Each run has its own connections, because leftovers of one would count for the other.
	first := newNames(t).responded()
	if lost := strings.Count(first, "-"); lost < 10 || lost > 40 {
		t.Errorf("%s: %d of 50 are lost", first, lost)
	}
	if again := newNames(t).responded(); again != first {
		t.Errorf("with the same seed %s and %s", first, again)
	}
}

// responded sends 50 queries over one connection while half of all messages is dropped, and returns which of
// them get a response. More queries follow; their responses show that no other is outstanding.
func (n names) responded() string {
	n.t.Helper()
	const queries, more = 50, 50
	defer n.DropRequests(0.5, 3)()
	conn, err := client().Dial(n.Addr())
	if err != nil {
		n.t.Fatal(err)
	}
	defer conn.Close()
	for id := range uint16(queries + more) {
		query := new(mdns.Msg)
		query.SetQuestion("www.lab.example.", mdns.TypeA)
		query.Id = id
		if err := conn.WriteMsg(query); err != nil {
			n.t.Fatal(err)
		}
	}
	all := []byte(strings.Repeat("-", queries))
	for {
		if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
			n.t.Fatal(err)
		}
		reply, err := conn.ReadMsg()
		if err != nil {
			n.t.Fatal(err)
		}
		if reply.Id >= queries {
			return string(all)
		}
		all[reply.Id] = '+'
	}
}

func TestDNSDelays(t *testing.T) {
	n := newNames(t)
	end := n.Delay(silence, silence/10)
	begun := time.Now()
	if _, err := n.exchange(client(), addText("late.lab.example.")); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took < 2*(silence-silence/10) {
		t.Errorf("request and answer took %v", took)
	}
	end()
	n.recorded(wrote(mdns.RcodeSuccess, "late.lab.example."))
	if e := writes(n.recorder)[0]; e.Write.Responded-e.At < silence {
		t.Errorf("it arrived at %v and was answered at %v", e.At, e.Write.Responded)
	}
}

func TestDNSIsCut(t *testing.T) {
	n := newNames(t)
	conn := connect(t, n.Addr())
	query := new(mdns.Msg)
	query.SetQuestion("www.lab.example.", mdns.TypeA)
	idle := &mdns.Conn{Conn: conn}
	if err := idle.WriteMsg(query); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.ReadMsg(); err != nil {
		t.Fatal(err)
	}
	end := n.Cut()
	ends(t, conn, syscall.ECONNRESET)
	if _, err := net.DialTimeout("tcp4", n.Addr(), soon); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection: %v", err)
	}
	end()
	if _, err := n.exchange(client(), query); err != nil {
		t.Error(err)
	}
}

// arrivals is a recorder that signals when an update has arrived.
type arrivals struct {
	*history.Recorder
	arrived chan struct{}
}

// Now implements [network.Recorder].
func (a *arrivals) Now() time.Duration {
	select {
	case a.arrived <- struct{}{}:
	default:
	}
	return a.Recorder.Now()
}

// TestDNSCloses shows that an active update is recorded without a response when the DNS closes.
func TestDNSCloses(t *testing.T) {
	n := newNames(t)
	seen := &arrivals{Recorder: n.recorder, arrived: make(chan struct{}, 1)}
	var err error
	if n.DNS, err = network.NewDNS(seen, "replica-a", n.bind.Addr.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	n.Delay(time.Hour, 0)
	conn, err := client().Dial(n.Addr())
	if err != nil {
		t.Fatal(err)
	}
	conn.TsigSecret = client().TsigSecret
	if err := conn.WriteMsg(addText("open.lab.example.")); err != nil {
		t.Fatal(err)
	}
	<-seen.arrived
	n.Close()
	conn.Close()
	n.recorded(wrote(-1, "open.lab.example."))
}

// TestDNSWithNonsense shows that invalid messages do no harm.
func TestDNSWithNonsense(t *testing.T) {
	n := newNames(t)
	for _, text := range []string{"\x00\x00", "\x00\x01x", "\x00\x0c\x00\x01\x28\x00\x00\x09\x00\x09\x00\x09\x00\x09", "\x00\x01\x28\x00\x00\x09\x00\x09\x00\x09\x00\x09"} {
		conn, err := net.Dial("tcp4", n.Addr()) // a new one, because the server may close it
		if err != nil {
			t.Fatal(err)
		}
		send(t, conn, text)
		conn.Close()
	}
	query := new(mdns.Msg)
	query.SetQuestion("www.lab.example.", mdns.TypeA)
	if _, err := n.exchange(client(), query); err != nil {
		t.Error(err)
	}
}

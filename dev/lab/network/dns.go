package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

const (
	// portAttempts is how many TCP ports are tried until one is free for UDP too.
	portAttempts = 10
	// headerSize is the length of a message's header (RFC 1035, section 4.1.1).
	headerSize = 12
)

// DNS is a proxy from one replica to a name server, over UDP and TCP. It changes no byte, so signatures stay
// valid. It records each UPDATE (RFC 2136) as a history.Write, with the response code.
type DNS struct {
	recorder Recorder
	replica  string
	target   string
	udp      *net.UDPConn
	port     *port // for TCP
	faults   faults[dnsFault]
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	serving  sync.WaitGroup // for UDP

	mu      sync.Mutex
	streams map[*dnsStream]struct{}
	closed  bool
	open    sync.WaitGroup // open streams
}

// dnsFault is one fault of a DNS. Unset fields have no effect.
type dnsFault struct {
	requests, responses *dice // which messages are dropped
	latency, jitter     time.Duration
	cut                 bool
}

// NewDNS listens on a free port of 127.0.0.1, the same for UDP and TCP. target is the host:port of the name
// server.
func NewDNS(recorder Recorder, replica, target string) (*DNS, error) {
	d := &DNS{recorder: recorder, replica: replica, target: target, streams: map[*dnsStream]struct{}{}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	if err := d.listen(); err != nil {
		d.stop()
		return nil, fmt.Errorf("connect %s to the name server %s: %w", replica, target, err)
	}
	d.serving.Go(d.serveUDP)
	return d, nil
}

// listen finds a port that is free for UDP and TCP.
func (d *DNS) listen() error {
	var errs []error
	for range portAttempts {
		gate, err := newPort(0, d.serveTCP)
		if err != nil {
			return err
		}
		if d.udp, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(gate.addr)); err == nil {
			d.port = gate
			return nil
		}
		gate.close()
		errs = append(errs, err)
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return errors.Join(errs...)
}

// Addr returns the address, as 127.0.0.1:port. It never changes.
func (d *DNS) Addr() string { return d.port.addr.String() }

// DropRequests drops a share of the requests, from 0 to 1, at random from a seed, before the name server gets
// them.
func (d *DNS) DropRequests(share float64, seed uint64) (end func()) {
	return d.begin(dnsFault{requests: newDice(share, seed)})
}

// DropResponses drops a share of the responses, from 0 to 1, at random from a seed. The name server has
// carried out their requests.
func (d *DNS) DropResponses(share float64, seed uint64) (end func()) {
	return d.begin(dnsFault{responses: newDice(share, seed)})
}

// Delay delays each message by latency ± jitter. The next message on the same TCP connection is read only
// after that.
func (d *DNS) Delay(latency, jitter time.Duration) (end func()) {
	return d.begin(dnsFault{latency: latency, jitter: jitter})
}

// CutTCP resets all TCP connections, and refuses new ones until end is called.
func (d *DNS) CutTCP() (end func()) { return d.begin(dnsFault{cut: true}) }

// Heal ends all faults.
func (d *DNS) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.endAll()
	d.applyLocked()
}

// Close resets all connections, and returns when all updates are recorded.
func (d *DNS) Close() {
	d.mu.Lock()
	d.closed = true
	d.stop()
	d.resetLocked()
	d.mu.Unlock()
	_ = d.udp.Close()
	d.port.close()
	d.serving.Wait()
	d.open.Wait()
}

func (d *DNS) begin(what dnsFault) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.faults.begin(what)
	d.applyLocked()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.faults.end(f)
		d.applyLocked()
	}
}

func (d *DNS) applyLocked() {
	if !d.isCut() {
		d.port.open()
		return
	}
	d.port.shut()
	d.resetLocked()
}

func (d *DNS) resetLocked() {
	for s := range d.streams {
		s.reset()
	}
}

func (d *DNS) isCut() bool {
	return slices.ContainsFunc(d.faults.now(), func(f *fault[dnsFault]) bool { return f.what.cut })
}

// loses waits for the delay of a message, and reports whether it is dropped.
func (d *DNS) loses(which func(dnsFault) *dice, done <-chan struct{}) bool {
	lost := false
	for _, f := range d.faults.now() {
		wait(jittered(f.what.latency, f.what.jitter), f.over, done)
		if dice := which(f.what); dice != nil && dice.hit() {
			lost = true
		}
	}
	return lost
}

func ofRequests(f dnsFault) *dice  { return f.requests }
func ofResponses(f dnsFault) *dice { return f.responses }

// update is a received UPDATE.
type update struct {
	id      uint16
	arrived time.Duration
	what    history.UpdateWrite
}

// read parses an UPDATE. It returns nil for other messages, and the readable part of an invalid one. The
// message must not be changed afterwards.
func (d *DNS) read(message []byte) *update {
	const isAnswer, opcode = 0x80, 0x78
	if len(message) < headerSize || message[2]&isAnswer != 0 || int(message[2]&opcode)>>3 != mdns.OpcodeUpdate {
		return nil
	}
	u := &update{id: idOf(message), arrived: d.recorder.Now(), what: history.UpdateWrite{Message: message}}
	var m mdns.Msg
	_ = m.Unpack(message)
	if len(m.Question) > 0 {
		u.what.Zone = mdns.CanonicalName(m.Question[0].Name)
	}
	for _, record := range m.Ns {
		if name := mdns.CanonicalName(record.Header().Name); !slices.Contains(u.what.Names, name) {
			u.what.Names = append(u.what.Names, name)
		}
	}
	return u
}

// record records an update with its response, which is nil if none was forwarded.
func (d *DNS) record(u *update, response []byte) {
	write := &history.Write{Replica: d.replica, Status: -1, Update: &u.what}
	if response != nil {
		const rcode = 0x0f
		write.Responded, write.Status = d.recorder.Now(), int(response[3]&rcode)
	}
	d.recorder.Record(history.Entry{At: u.arrived, Write: write})
}

// idOf returns the ID of a message, which is the same in its response.
func idOf(message []byte) uint16 { return uint16(message[0])<<8 | uint16(message[1]) }

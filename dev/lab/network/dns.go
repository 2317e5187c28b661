package network

import (
	"fmt"
	"slices"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// headerSize is the length of a message's header (RFC 1035, section 4.1.1).
const headerSize = 12

// DNS passes the messages of one replica to a name server, over TCP as the provider rfc2136 sends them, and the
// answers back. It changes no byte, so signatures stay valid. It records each UPDATE (RFC 2136) as a
// history.Write, with the response code of its answer.
type DNS struct {
	recorder Recorder
	replica  string
	target   string
	passage[dnsFault, *dnsStream]
}

// dnsFault is one of these.
type dnsFault struct {
	requests, responses *dice // which are dropped
	latency, jitter     time.Duration
	cut                 bool
}

func (f dnsFault) cuts() bool { return f.cut }

// NewDNS listens on a free port of 127.0.0.1. The name server, host:port, is target.
func NewDNS(recorder Recorder, replica, target string) (*DNS, error) {
	d := &DNS{recorder: recorder, replica: replica, target: target}
	d.connect = d.newStream
	var err error
	if d.port, err = newPort(d.serve); err != nil {
		return nil, fmt.Errorf("connect %s to the name server %s: %w", replica, target, err)
	}
	return d, nil
}

// DropRequests loses a share of the requests, from 0 to 1, at random from a seed. The name server
// gets none of them.
func (d *DNS) DropRequests(share float64, seed uint64) (end func()) {
	return d.begin(dnsFault{requests: newDice(share, seed)})
}

// DropResponses loses a share of the answers, from 0 to 1, at random from a seed. The name server
// has done what the requests say.
func (d *DNS) DropResponses(share float64, seed uint64) (end func()) {
	return d.begin(dnsFault{responses: newDice(share, seed)})
}

// Delay holds each message back for latency, more or less by up to jitter. The next message on the
// same connection is read afterwards.
func (d *DNS) Delay(latency, jitter time.Duration) (end func()) {
	return d.begin(dnsFault{latency: latency, jitter: jitter})
}

// CutTCP resets all connections, and refuses new ones until it ends.
func (d *DNS) CutTCP() (end func()) { return d.begin(dnsFault{cut: true}) }

// Close resets all connections. When it returns, everything is recorded.
func (d *DNS) Close() { d.end() }

// loses waits as long as a message is delayed, and reports whether it gets lost.
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

// update is an UPDATE that has arrived.
type update struct {
	id      uint16
	arrived time.Duration
	what    history.UpdateWrite
}

// read returns nil for a message that is no UPDATE. Of one that can't be decoded, it returns what
// can. The message isn't changed afterwards.
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

// record records what has become of an update. The answer is nil if none was passed back.
func (d *DNS) record(u *update, answer []byte) {
	write := &history.Write{Replica: d.replica, Status: -1, Update: &u.what}
	if answer != nil {
		const rcode = 0x0f
		write.Responded, write.Status = d.recorder.Now(), int(answer[3]&rcode)
	}
	d.recorder.Record(history.Entry{At: u.arrived, Write: write})
}

// idOf is the ID of a message, which its answer has too.
func idOf(message []byte) uint16 { return uint16(message[0])<<8 | uint16(message[1]) }

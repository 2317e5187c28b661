package network

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// lengthSize is the length of the field before each message over TCP (RFC 1035, section 4.2.2), and
// headerSize that of a message's header (section 4.1.1).
const lengthSize, headerSize = 2, 12

// DNS is a Link from one replica to a name server, over TCP as the provider rfc2136 sends everything. It can
// also lose single messages. It changes no byte, so signatures stay valid. It records each UPDATE (RFC 2136)
// as a history.Write, with the response code of its answer.
type DNS struct {
	Link
	recorder Recorder
	replica  string
}

// NewDNS listens on a free port of 127.0.0.1. The name server, host:port, is target.
func NewDNS(recorder Recorder, replica, target string) (*DNS, error) {
	d := &DNS{recorder: recorder, replica: replica}
	if err := d.start(target, d); err != nil {
		return nil, fmt.Errorf("connect %s to the name server %s: %w", replica, target, err)
	}
	return d, nil
}

// DropRequests loses a share of the requests, from 0 to 1, at random from a seed. The name server
// gets none of them.
func (d *DNS) DropRequests(share float64, seed uint64) (end func()) {
	return d.begin(linkFault{requests: newDice(share, seed)})
}

// DropResponses loses a share of the answers, from 0 to 1, at random from a seed. The name server
// has done what the requests say.
func (d *DNS) DropResponses(share float64, seed uint64) (end func()) {
	return d.begin(linkFault{responses: newDice(share, seed)})
}

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
func idOf(message []byte) uint16 { return binary.BigEndian.Uint16(message) }

// messagesOf returns a function that reads a message with its length before it. Its error is io.EOF if the
// connection ends between messages.
func messagesOf(r *bufio.Reader) func() ([]byte, error) {
	return func() ([]byte, error) {
		length, err := r.Peek(lengthSize)
		if err != nil {
			return nil, err
		}
		framed := make([]byte, lengthSize+int(binary.BigEndian.Uint16(length)))
		if _, err := io.ReadFull(r, framed); err != nil {
			return nil, err
		}
		return framed, nil
	}
}

// updates are the updates of one connection of a DNS that have no answer yet. The methods of nil do nothing.
type updates struct {
	dns     *DNS
	mu      sync.Mutex
	pending map[uint16]*update // by their ID
}

func newUpdates(d *DNS) *updates { return &updates{dns: d, pending: map[uint16]*update{}} }

// arrived notes an update. One before it with the same ID gets no answer any more.
func (s *updates) arrived(d Direction, framed []byte) {
	if s == nil || d != ToTarget {
		return
	}
	u := s.dns.read(framed[lengthSize:])
	if u == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.pending[u.id]; before != nil {
		s.dns.record(before, nil)
	}
	s.pending[u.id] = u
}

// passed records the update that a message answers, if there is one.
func (s *updates) passed(d Direction, framed []byte) {
	if s == nil || d != ToClient || len(framed) < lengthSize+headerSize {
		return
	}
	answer := framed[lengthSize:]
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.pending[idOf(answer)]; u != nil {
		s.dns.record(u, answer)
		delete(s.pending, u.id)
	}
}

// end records the updates that got no answer.
func (s *updates) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.pending {
		s.dns.record(u, nil)
	}
	clear(s.pending)
}

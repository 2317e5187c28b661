package clientlimits

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/mem"
)

const (
	// minUnread is the size of the parts of messages that are counted, in bytes. Smaller ones are not worth
	// their counting: 20,000 calls of one host, each with another one, hold 40 MB.
	minUnread = 2 << 10
	// unreadAfter is how long a client may take to read before its memory counts, and unreadInterval the time
	// between two checks.
	unreadAfter, unreadInterval = 10 * time.Second, 5 * time.Second
	// blockedCall is the memory of a call whose window is closed and whose next message waits, in bytes: some
	// 64 kB of messages, which grpc-go queues, and a stack.
	blockedCall = 64 << 10
)

// unread are the parts of messages that a connection has not sent, because its client doesn't read.
type unread struct {
	mu sync.Mutex
	// parts has the parts by their first byte, because calls share them.
	parts map[*byte]unreadPart
}

type unreadPart struct {
	users, bytes int
	since        time.Time
}

// Message returns the encoded message for one call of the connection, which sends it once. Its parts
// count until gRPC has sent them. A nil Connection counts nothing.
func (c *Connection) Message(m *mem.BufferSlice) *mem.BufferSlice {
	if c == nil || m.Len() < minUnread {
		return m
	}
	parts := make(mem.BufferSlice, 0, len(*m))
	for _, p := range *m {
		parts = append(parts, c.unread.hold(p))
	}
	return &parts
}

// hold counts a part until the returned buffer is freed.
func (u *unread) hold(p mem.Buffer) mem.Buffer {
	data := p.ReadOnlyData()
	if len(data) < minUnread {
		return p
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	part, held := u.parts[&data[0]]
	if !held {
		if u.parts == nil {
			u.parts = map[*byte]unreadPart{}
		}
		part = unreadPart{bytes: len(data), since: time.Now()}
	}
	part.users++
	u.parts[&data[0]] = part
	return mem.NewBuffer(&data, u)
}

// Put implements [mem.BufferPool]. It ends one use of a part.
func (u *unread) Put(data *[]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := &(*data)[0]
	part := u.parts[first]
	if part.users--; part.users == 0 {
		delete(u.parts, first)
		return
	}
	u.parts[first] = part
}

// Get implements [mem.BufferPool]. Nothing calls it.
func (*unread) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

// Blocked is a call whose next message waits for its client.
type Blocked struct {
	Connection *Connection
	For        time.Duration
	// Holds is a value that only blocked calls hold, such as a replaced response, and Bytes its
	// memory; nil for none. Calls may share it.
	Holds any
	Bytes int
}

// LimitUnread closes connections whose clients don't read, until the context ends. It closes the connections
// that hold most memory: those of a client that holds more than MaxResponseBytesPerClient, and those of the
// greatest clients while all clients together hold more than ten times as much. A call can't be ended without
// its connection, because gRPC would keep its messages until the client reads them. blocked returns the
// blocked calls.
func (cs *Connections) LimitUnread(ctx context.Context, blocked func(now time.Time) []Blocked) {
	ticker := time.Tick(unreadInterval)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker:
			cs.limitUnread(now, blocked(now))
		}
	}
}

func (cs *Connections) limitUnread(now time.Time, blocked []Blocked) {
	byClient := map[ClientID]*holdings{}
	all := newHoldings()
	for _, h := range cs.holders(now, blocked) {
		id := h.connection.client
		if byClient[id] == nil {
			byClient[id] = newHoldings()
		}
		byClient[id].add(h)
		all.add(h)
	}
	limit := cs.limits.MaxResponseBytesPerClient
	clients := make([]*holdings, 0, len(byClient))
	for _, of := range byClient {
		for of.bytes > limit {
			all.remove(of.closeGreatest(cs, RefusedUnreadOfClient))
		}
		clients = append(clients, of)
	}
	for all.bytes > memoryClients*limit {
		greatest := slices.MaxFunc(clients, func(a, b *holdings) int { return cmp.Compare(a.bytes, b.bytes) })
		all.remove(greatest.closeGreatest(cs, RefusedUnread))
	}
	cs.unreadBytes.Store(int64(all.bytes))
}

// UnreadGauge returns a gauge of the memory of unread responses that the last check has found and left.
func (cs *Connections) UnreadGauge(name string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: name, Help: "Bytes of the responses that clients have not read for ten seconds. If several calls share a response, it counts once.",
	}, func() float64 { return float64(cs.unreadBytes.Load()) })
}

// holder is a connection with the memory that it holds.
type holder struct {
	connection *Connection
	bytes      int
	// parts has the memory that it holds, in bytes. Other connections may hold the same part.
	parts map[any]int
}

func (h *holder) add(part any, bytes int) {
	if _, held := h.parts[part]; !held {
		h.parts[part] = bytes
		h.bytes += bytes
	}
}

// holders returns the connections that hold memory of clients that don't read, the greatest last.
func (cs *Connections) holders(now time.Time, blocked []Blocked) (list []*holder) {
	byConnection := map[*Connection]*holder{}
	for _, c := range cs.open() {
		h := &holder{connection: c, parts: map[any]int{}}
		byConnection[c] = h
		c.unread.addTo(h, now)
	}
	for i, b := range blocked {
		h := byConnection[b.Connection]
		if h == nil || b.For < unreadAfter {
			continue
		}
		h.add(&blocked[i], blockedCall)
		if b.Holds != nil {
			h.add(b.Holds, b.Bytes)
		}
	}
	for _, h := range byConnection {
		if h.bytes > 0 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *holder) int { return cmp.Compare(a.bytes, b.bytes) })
	return list
}

// addTo adds the parts that have waited for long.
func (u *unread) addTo(h *holder, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for first, part := range u.parts {
		if now.Sub(part.since) >= unreadAfter {
			h.add(first, part.bytes)
		}
	}
}

// holdings is the memory that several connections hold. A part that several hold counts once.
type holdings struct {
	connections []*holder // by bytes, the greatest last
	users       map[any]int
	bytes       int
}

func newHoldings() *holdings { return &holdings{users: map[any]int{}} }

func (hs *holdings) add(h *holder) {
	hs.connections = append(hs.connections, h)
	for part, bytes := range h.parts {
		if hs.users[part]++; hs.users[part] == 1 {
			hs.bytes += bytes
		}
	}
}

// remove undoes add, except that the connection stays listed.
func (hs *holdings) remove(h *holder) {
	for part, bytes := range h.parts {
		if hs.users[part]--; hs.users[part] == 0 {
			hs.bytes -= bytes
		}
	}
}

// closeGreatest closes the connection that holds most, and returns it.
func (hs *holdings) closeGreatest(cs *Connections, why Refusal) *holder {
	last := len(hs.connections) - 1
	h := hs.connections[last]
	hs.connections = hs.connections[:last]
	hs.remove(h)
	cs.cut(h, why)
	return h
}

// cut closes a connection, because its client doesn't read.
func (cs *Connections) cut(h *holder, why Refusal) {
	cs.refused(why)
	cs.cutLines.Do(func() {
		cs.log.Warn("Closed a connection, because its client does not read the responses of its calls, and they need too much memory",
			"limit", string(why), "client", h.connection.RemoteAddr().String(), "bytes", h.bytes)
	})
	reset(h.connection)
}

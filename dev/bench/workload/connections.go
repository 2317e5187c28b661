package workload

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The receive windows of the proxy, which also switch off grpc-go's own tuning of them.
const (
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20
)

// Dial returns a connection with the receive windows of the proxy.
func Dial(addr string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow),
	}, more...)...)
}

// DialFrom is Dial for the client with a number, from an address of its own, as clients in pods
// have, and with small buffers.
func DialFrom(number int, addr string) (*grpc.ClientConn, error) {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(number/250), byte(1+number%250))}}
	return Dial("passthrough:///"+addr,
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return from.DialContext(ctx, "tcp", addr) }),
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10))
}

// Connections are connections to a server, with streams on each.
type Connections struct {
	conns   []*grpc.ClientConn
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Start runs streams, which have numbers from 0, perConnection on each connection.
func (c *Connections) Start(ctx context.Context, addr string, streams, perConnection int, run func(ctx context.Context, stream int, conn *grpc.ClientConn)) error {
	ctx, c.cancel = context.WithCancel(ctx)
	for i := range streams {
		if i%perConnection == 0 {
			conn, err := Dial(addr)
			if err != nil {
				c.Close()
				return err
			}
			c.conns = append(c.conns, conn)
		}
		conn := c.conns[i/perConnection]
		c.running.Go(func() { run(ctx, i, conn) })
	}
	return nil
}

// Wait waits until all streams have ended.
func (c *Connections) Wait() { c.running.Wait() }

// Close ends the streams and closes their connections.
func (c *Connections) Close() {
	c.cancel()
	c.running.Wait()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

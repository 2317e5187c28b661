package destclient

import (
	"cmp"
	"context"
	"io"
	"math"
	"net"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
)

// connectTime is how long one attempt to connect may take at least.
const connectTime = 20 * time.Second

// clock is the layout of times in tables.
const clock = "15:04:05.000"

// Options are the argument and flags of a command that queries a Destination server.
type Options struct {
	// Authority is the authority of a proxy's request.
	Authority, Addr, Token string
	// Output is the format of messages; OutputProto is protobuf's JSON.
	Output  output.Format
	Watch   bool
	Timeout time.Duration
	// Waiting says what a server that isn't ready waits for. It is called if no response comes; nil if
	// unknown.
	Waiting func(context.Context) string
	// Dial connects to the server; nil for the address itself.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Transport has the credentials of the connection; nil for one without TLS.
	Transport credentials.TransportCredentials
}

// OutputProto is the format of protobuf's JSON, with addresses as numbers.
const OutputProto = "protojson"

// Connect returns a connection, which the caller closes. Like those of Linkerd's proxies, it uses
// no proxy, and accepts responses of any size.
func (o *Options) Connect() (*grpc.ClientConn, error) {
	if err := settings.CheckTimeout(o.Timeout); err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(cmp.Or(o.Transport, insecure.NewCredentials())),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		// The default delay grows to two minutes, in which a watch would get the old error.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectDelay(0), Multiplier: 1.6, MaxDelay: reconnectDelay(math.MaxInt)},
			MinConnectTimeout: connectTime,
		}),
	}
	if o.Dial != nil {
		options = append(options, grpc.WithContextDialer(o.Dial))
	}
	conn, err := grpc.NewClient(o.Addr, options...)
	if err != nil {
		return nil, settings.Usagef("--addr=%s: %w", o.Addr, err)
	}
	return conn, nil
}

// call is a call of one method for one authority. The response is a stream of Ms.
type call[M any] struct {
	Options
	// command is the name of the command, for errors.
	command string
	call    func(context.Context, *pb.GetDestination, ...grpc.CallOption) (grpc.ServerStreamingClient[M], error)
	printer printer[M]
	err     io.Writer
	// quiet is for a first response of several messages: it is complete when no message has come for
	// this long. If quiet is zero, the response is a single message.
	quiet time.Duration
	// backoff returns the delay after a number of failures in a row.
	backoff func(failures int) time.Duration
}

// printer prints the messages of streams. Only one goroutine calls it.
type printer[M any] interface {
	// restart is called before the first message of each watched stream.
	restart()
	message(m *M) error
	// done is called after the last message, unless the stream is watched.
	done() error
}

func (a *call[M]) run(ctx context.Context) error {
	if a.Watch {
		return a.watch(ctx)
	}
	return a.once(ctx)
}

// reconnectDelay grows from half a second to ten seconds.
func reconnectDelay(failures int) time.Duration {
	return min(500*time.Millisecond<<min(failures, 5), 10*time.Second)
}

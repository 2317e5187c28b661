package abuse

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signpostd/signpost/dev/bench/workload"
)

// attack is something that a client or a tenant may do to a server. It lasts until the context ends.
type attack struct {
	name, what string
	run        func(context.Context, *target) error
}

const (
	bigBytes       = 4_000_000 // just below what grpc-go receives by default
	bigAtOnce      = 40
	bigRate        = 40 // a second
	headerBytes    = 8 << 20
	headerStreams  = 60
	silentStreams  = 30_000
	silentConns    = 10
	distinctPorts  = 2000
	slowConns      = 20
	slowStreams    = 50 // per connection
	halfOpenConns  = 2000
	resetConns     = 10
	reconnectAfter = 100 * time.Millisecond
)

var attacks = []attack{
	{"paths", "Get with paths of 4 MB, 40 at a time, at most 40 a second", attackPaths},
	{"tokens", "Get with context tokens of 4 MB, 40 at a time, at most 40 a second", attackTokens},
	{"headers", "60 streams with 8 MB of headers each, six on each connection", attackHeaders},
	{"silent", "30,000 streams on one connection, without a request", attackSilentOne},
	{"silent-many", "30,000 streams on ten connections, without a request", attackSilentMany},
	{"ports", "2,000 streams on one connection, each for another undeclared port of the Service", attackPorts},
	{"slow", "1,000 streams on 20 connections, of which ten are never read, and ten a byte at a time", attackSlow},
	{"half-open", "2,000 connections that send nothing, and 2,000 that send only the preface of HTTP/2", attackHalfOpen},
	{"rapid-reset", "streams of Get on ten connections, each reset at once, as fast as a core can", attackRapidReset},
	{"utf8", "a pod whose owner's name is no UTF-8, with Get of its Service and GetProfile of its address", attackUTF8},
	{"opaque-ports", "a Service whose opaque ports become 50,001 other bad names ten times a second, and GetProfile of it", attackOpaquePorts},
	{"federation", "a Service that becomes the federation of 41,895 other Services ten times a second, and Get of it", attackFederation},
}

// target is what is attacked, with what came of it so far.
type target struct {
	addr, kubeconfig          string
	asked, answered, rejected atomic.Int64
	edits                     atomic.Int64 // of objects
}

// Attack is the process of an attacker. It uses one core at most.
func Attack(ctx context.Context, args []string) error {
	runtime.GOMAXPROCS(1)
	var t target
	fs := flag.NewFlagSet("attack", flag.ExitOnError)
	fs.StringVar(&t.addr, "addr", "", "address of the server")
	fs.StringVar(&t.kubeconfig, "kubeconfig", "", "cluster of the tenant")
	if err := fs.Parse(args); err != nil {
		return err
	}
	for _, a := range attacks {
		if a.name == fs.Arg(0) {
			err := a.run(ctx, &t)
			fmt.Printf("\n%d asked, %d answered, %d rejected, %d edits", t.asked.Load(), t.answered.Load(), t.rejected.Load(), t.edits.Load())
			if err != nil && ctx.Err() == nil {
				fmt.Printf("; gave up: %v", err)
			}
			fmt.Println()
			return nil
		}
	}
	return fmt.Errorf("there is no attack %q", fs.Arg(0))
}

func (t *target) client() (pb.DestinationClient, func() error, error) {
	conn, err := grpc.NewClient(t.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(2*bigBytes), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, nil, err
	}
	return pb.NewDestinationClient(conn), conn.Close, nil
}

func attackPaths(ctx context.Context, t *target) error {
	return t.ask(ctx, &pb.GetDestination{Scheme: "k8s", Path: strings.Repeat("a.", bigBytes/2) + "svc.cluster.local"})
}

func attackTokens(ctx context.Context, t *target) error {
	return t.ask(ctx, &pb.GetDestination{Scheme: "k8s", Path: authority, ContextToken: strings.Repeat("\x01", bigBytes)})
}

// authority is what the well-behaved streams ask for, too.
const authority = workload.Service + "." + workload.Namespace + ".svc.cluster.local:80"

// ask sends the same big request again and again, and waits for the first answer to each.
func (t *target) ask(ctx context.Context, request *pb.GetDestination) error {
	client, done, err := t.client()
	if err != nil {
		return err
	}
	defer done()
	limit := rate.NewLimiter(bigRate, bigAtOnce)
	var all sync.WaitGroup
	for range bigAtOnce {
		all.Go(func() {
			for limit.Wait(ctx) == nil {
				t.get(ctx, client, request)
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// get asks once and leaves after the first answer.
func (t *target) get(ctx context.Context, client pb.DestinationClient, request *pb.GetDestination) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.asked.Add(1)
	stream, err := client.Get(ctx, request)
	if err == nil {
		_, err = stream.Recv()
	}
	t.count(ctx, err)
}

// getProfile asks once and leaves after the first answer.
func (t *target) getProfile(ctx context.Context, client pb.DestinationClient, path string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.asked.Add(1)
	stream, err := client.GetProfile(ctx, &pb.GetDestination{Path: path})
	if err == nil {
		_, err = stream.Recv()
	}
	t.count(ctx, err)
}

func (t *target) count(ctx context.Context, err error) {
	switch {
	case err == nil:
		t.answered.Add(1)
	case ctx.Err() == nil:
		t.rejected.Add(1)
	}
}

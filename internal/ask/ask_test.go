package ask

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// scripted is a Destination server that answers the first stream with the first
// script, and so on; what comes after the last is answered with its last.
type scripted struct {
	pb.UnimplementedDestinationServer
	scripts []script

	mu    sync.Mutex
	asked []*pb.GetDestination
}

// script is one stream: messages, and then its end.
type script struct {
	updates []*pb.Update
	// profiles are sent instead by GetProfile.
	profiles []*pb.DestinationProfile
	// holds keeps the stream open until the client ends it.
	holds bool
	end   error
}

func (s *scripted) Get(q *pb.GetDestination, stream grpc.ServerStreamingServer[pb.Update]) error {
	script := s.next(q)
	return act(script, script.updates, stream)
}

func (s *scripted) GetProfile(q *pb.GetDestination, stream grpc.ServerStreamingServer[pb.DestinationProfile]) error {
	script := s.next(q)
	return act(script, script.profiles, stream)
}

func (s *scripted) next(q *pb.GetDestination) script {
	s.mu.Lock()
	defer s.mu.Unlock()
	script := s.scripts[min(len(s.asked), len(s.scripts)-1)]
	s.asked = append(s.asked, q)
	return script
}

func act[M any](script script, messages []*M, stream grpc.ServerStreamingServer[M]) error {
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	if script.holds {
		<-stream.Context().Done()
	}
	return script.end
}

func (s *scripted) questions() []*pb.GetDestination {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// serve starts the server on loopback and returns its address.
func (s *scripted) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterDestinationServer(server, s)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// question runs `signpost get` or `signpost profile` against the scripts. Its clock stands
// still, and it waits for more only as long as quiet.
type question struct {
	Options
	quiet   time.Duration
	backoff func(int) time.Duration
	out     io.Writer
	// profile asks for a profile.
	profile bool
}

// ask returns what was printed about errors, and how the command ended.
func (q question) ask(ctx context.Context, t *testing.T, addr string) (string, error) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	q.Authority, q.Addr = "web.emoji.svc.cluster.local:80", "SERVER"
	now := func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 6e6, time.UTC) }
	client := pb.NewDestinationClient(conn)
	if q.profile {
		return askWith(ctx, q, &asker[pb.DestinationProfile]{command: "profile", call: client.GetProfile, printer: newProfilePrinter(q.Options, q.out, now)})
	}
	return askWith(ctx, q, &asker[pb.Update]{command: "get", call: client.Get, printer: newGetPrinter(q.Options, q.out, now)})
}

func askWith[M any](ctx context.Context, q question, a *asker[M]) (string, error) {
	var errText bytes.Buffer
	a.Options, a.err, a.quiet, a.backoff = q.Options, &errText, q.quiet, q.backoff
	err := a.run(ctx)
	return errText.String(), err
}

// until is a writer that calls found once a line with the text has been written.
type until struct {
	written []byte
	text    string
	found   func()
}

func (u *until) Write(p []byte) (int, error) {
	u.written = append(u.written, p...)
	if strings.Contains(string(u.written), u.text) {
		u.found()
	}
	return len(p), nil
}

// brokenPipe takes nothing.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestReconnectDelay(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: 500 * time.Millisecond, 1: time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		if got := reconnectDelay(failures); got != want {
			t.Errorf("reconnectDelay(%d) = %v, want %v", failures, got, want)
		}
	}
}

// messageOf returns the message of an error, empty for none.
func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package destclient

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
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/internal/golden"
)

// scripted is a Destination server that plays its first script to the first stream, and so
// on. It plays the last script to all further streams.
type scripted struct {
	pb.UnimplementedDestinationServer
	scripts []script

	mu    sync.Mutex
	asked []*pb.GetDestination
}

// script says what a stream brings: messages, and then its end.
type script struct {
	updates []*pb.Update
	// profiles are what GetProfile sends instead of updates.
	profiles []*pb.DestinationProfile
	// holds says that the stream stays open until the client ends it.
	holds bool
	end   error
}

// messages returns a message for each text. A text is prototext, and may be joined from
// several.
func messages[M any, P interface {
	*M
	proto.Message
}](t *testing.T, texts []string) []*M {
	t.Helper()
	var all []*M
	for _, text := range texts {
		m := new(M)
		if err := prototext.Unmarshal([]byte(text), P(m)); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
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

// question asks the scripted server as `signpost get` or `signpost profile` do. Its clock
// stands still.
type question struct {
	Options
	quiet   time.Duration
	backoff func(int) time.Duration
	out     io.Writer
	// profile says that the question is about a profile.
	profile bool
}

// ask returns what was printed about errors, and the error that the call returned.
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
		return askWith(ctx, q, &call[pb.DestinationProfile]{command: "profile", call: client.GetProfile, printer: newProfilePrinter(q.Options, q.out, now)})
	}
	return askWith(ctx, q, &call[pb.Update]{command: "get", call: client.Get, printer: newGetPrinter(q.Options, q.out, now)})
}

func askWith[M any](ctx context.Context, q question, a *call[M]) (string, error) {
	var errText bytes.Buffer
	a.Options, a.err, a.quiet, a.backoff = q.Options, &errText, q.quiet, q.backoff
	err := a.run(ctx)
	return errText.String(), err
}

// until is a writer that calls found when the text has been written.
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

// brokenPipe is a writer that always fails.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// onceTest is a question without --watch.
type onceTest struct {
	script script
	output string
	err    string
}

// run compares what is printed with a golden file.
func (tt onceTest) run(t *testing.T, file string, q question) {
	s := &scripted{scripts: []script{tt.script}}
	var out bytes.Buffer
	q.Options, q.out = Options{Output: output.Format{Kind: tt.output}, Token: `{"ns":"x"}`, Timeout: time.Minute}, &out
	_, err := q.ask(t.Context(), t, s.serve(t))
	if got := messageOf(err); got != tt.err {
		t.Errorf("error %q, want %q", got, tt.err)
	}
	if tt.err == "" {
		golden.Check(t, file, out.String())
	} else if out.Len() > 0 {
		t.Errorf("printed %q besides the error", &out)
	}
	asked := s.questions()
	if len(asked) != 1 || asked[0].GetPath() != "web.emoji.svc.cluster.local:80" || asked[0].GetContextToken() != `{"ns":"x"}` || asked[0].GetScheme() != "k8s" {
		t.Errorf("asked %v", asked)
	}
}

// watchTest is a question with --watch.
type watchTest struct {
	scripts []script
	output  string
	// text ends the watch; without it an error does.
	text, err string
}

// run compares what is printed, errors last, with a golden file.
func (tt watchTest) run(t *testing.T, file string, q question) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &until{text: tt.text, found: cancel}
	if tt.text == "" {
		out.found = func() {}
	}
	s := &scripted{scripts: tt.scripts}
	q.Options, q.out = Options{Output: output.Format{Kind: tt.output}, Watch: true}, out
	// The delays show how many failures there were in a row, as nanoseconds.
	q.backoff = func(failures int) time.Duration { return time.Duration(failures) }
	errLines, err := q.ask(ctx, t, s.serve(t))
	if got := messageOf(err); got != tt.err {
		t.Errorf("error %q, want %q", got, tt.err)
	}
	golden.Check(t, file, string(out.written)+errLines)
}

// checkOutputErrors asks with each kind of output, and can print none of it.
func checkOutputErrors(t *testing.T, command string, q question, s script) {
	want := command + " web.emoji.svc.cluster.local:80 from SERVER: can't write the output: broken pipe"
	for name, o := range map[string]Options{
		"watch": {Watch: true},
		"json":  {Output: output.Format{Kind: "json"}, Timeout: time.Minute},
		"table": {Timeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			q := q
			q.Options, q.out = o, brokenPipe{}
			_, err := q.ask(t.Context(), t, (&scripted{scripts: []script{s}}).serve(t))
			if got := messageOf(err); got != want {
				t.Errorf("error %q, want %q", got, want)
			}
		})
	}
}

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

package destination

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/internal/tracing"
)

// The names of the methods in the log and in traces.
const (
	methodGet        = "Get"
	methodGetProfile = "GetProfile"
)

// trail writes the debug log lines and the trace span of a call. It is nil without debug log and tracer. Only
// one goroutine uses it at a time.
type trail struct {
	log  *slog.Logger // nil below debug
	span *tracing.Span
	// begun is the time at which the call began.
	begun time.Time
	// total counts what was sent, step what was sent since the last log line.
	total, step counts
}

// counts counts what was sent.
type counts struct{ messages, added, removed int }

func (s *counts) count(f *frame) {
	s.messages++
	s.added += int(f.added)
	s.removed += int(f.removed)
}

// leavesTrails reports whether calls are logged or traced.
func (s *Server) leavesTrails(ctx context.Context) bool {
	return s.config.Tracer != nil || s.log.Enabled(ctx, slog.LevelDebug)
}

// newTrail begins the trail of a call with its client and path.
func (s *Server) newTrail(ctx context.Context, method string, r *pb.GetDestination) *trail {
	if !s.leavesTrails(ctx) {
		return nil
	}
	debug := s.log.Enabled(ctx, slog.LevelDebug)
	t := &trail{span: s.config.Tracer.Begin("destination." + method), begun: time.Now()}
	who := clientIn(r.GetContextToken())
	client := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		client = p.Addr.String()
	}
	t.span.Text("rpc.method", method)
	t.span.Text("signpost.authority", r.GetPath())
	t.span.Text("client.address", client)
	t.span.Text("signpost.client.namespace", who.Namespace)
	t.span.Text("signpost.client.pod", who.Pod)
	t.span.Text("signpost.client.node", who.Node)
	if debug {
		t.log = s.log.With("call", s.trails.Add(1), "method", method, "path", sanitize.Cut(r.GetPath()))
		t.log.Debug("Call begins", "client", client, "namespace", sanitize.Cut(who.Namespace), "pod", sanitize.Cut(who.Pod), "node", sanitize.Cut(who.Node))
	}
	return t
}

// clientNames are the names in the token of a client.
type clientNames struct {
	contextToken
	Pod string `json:"pod"`
}

// clientIn returns the names in a token. It returns none for an invalid token, which must not be logged.
func clientIn(token string) clientNames {
	known, err := parseContextToken(token)
	if err != nil {
		return clientNames{}
	}
	var all clientNames
	// The other form of token names no pod.
	_ = json.Unmarshal([]byte(token), &all)
	return clientNames{known, all.Pod}
}

// sent counts a message that was sent.
func (t *trail) sent(f *frame) {
	if t == nil {
		return
	}
	t.total.count(f)
	t.step.count(f)
}

// answered logs that a response of Get was sent.
func (t *trail) answered(a *response) {
	if t == nil || t.step.messages == 0 {
		return
	}
	if t.log != nil {
		t.log.Debug("Answer is sent", "endpoints", len(a.entries), "added", t.step.added, "removed", t.step.removed, "exists", a.exists, "version", a.version)
	}
	t.step = counts{}
}

// profiled logs that a response of GetProfile was sent.
func (t *trail) profiled(a *profileResponse) {
	if t == nil {
		return
	}
	if t.log != nil {
		t.log.Debug("Answer is sent", "subject", nameOf(a.snapshot.Subject), "bytes", len(a.wire), "version", a.version)
	}
	t.step = counts{}
}

// end ends the trail with the error of the call, nil for the status OK.
func (t *trail) end(ctx context.Context, err error) {
	if t == nil {
		return
	}
	code := status.Code(err).String()
	t.span.Text("rpc.grpc.status", code)
	t.span.Number("signpost.messages.sent", t.total.messages)
	t.span.Number("signpost.endpoints.added", t.total.added)
	t.span.Number("signpost.endpoints.removed", t.total.removed)
	t.span.End(err)
	if t.log == nil {
		return
	}
	t.log.Debug("Call ends", "status", code, "reason", reasonOf(ctx, err), "messages", t.total.messages,
		"added", t.total.added, "removed", t.total.removed, "lasted", time.Since(t.begun).Round(time.Millisecond))
}

// reasonOf returns why a call has ended.
func reasonOf(ctx context.Context, err error) string {
	switch {
	case err != nil:
		return sanitize.Cut(status.Convert(err).Message())
	case ctx.Err() != nil:
		return "the client has left"
	default:
		return "the server stops"
	}
}

// nameOf returns the name of the subject of a profile, for the log.
func nameOf(s catalog.ProfileSubject) string {
	switch s {
	case catalog.ServiceFound:
		return "service"
	case catalog.PortNotDeclared:
		return "service without the port"
	case catalog.EndpointFound:
		return "endpoint"
	case catalog.ConflictFound:
		return "conflict"
	case catalog.ExternalNameFound:
		return "external name"
	default:
		return "nothing"
	}
}

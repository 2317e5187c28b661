package destination

import (
	"context"
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

// callLog writes the debug log lines and the trace span of a call. It is nil without debug log and tracer.
// Only one goroutine uses it at a time.
type callLog struct {
	log  *slog.Logger // nil below debug
	span *tracing.Span
	// begun is the start of the call.
	begun time.Time
	// total counts the messages of the call, and step those since the last log line.
	total, step counts
}

// counts are the numbers of sent messages, and of the endpoints in them.
type counts struct{ messages, added, removed int }

func (s *counts) count(f *frame) {
	s.messages++
	s.added += int(f.added)
	s.removed += int(f.removed)
}

// logsCalls reports whether calls are logged or traced.
func (s *Server) logsCalls(ctx context.Context) bool {
	return s.config.Tracer != nil || s.log.Enabled(ctx, slog.LevelDebug)
}

// newCallLog returns the log of a call, and logs the start of the call with its client and path.
func (s *Server) newCallLog(ctx context.Context, method string, r *pb.GetDestination) *callLog {
	if !s.logsCalls(ctx) {
		return nil
	}
	debug := s.log.Enabled(ctx, slog.LevelDebug)
	t := &callLog{span: s.config.Tracer.Begin("destination." + method), begun: time.Now()}
	names, err := parseContextToken(r.GetContextToken()) // empty for an invalid token, which must not be logged
	if err == nil {
		names, _ = decodeToken(r.GetContextToken()) // with a pod of any length
	}
	client := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		client = p.Addr.String()
	}
	t.span.Text("rpc.method", method)
	t.span.Text("signpost.authority", r.GetPath())
	t.span.Text("client.address", client)
	t.span.Text("signpost.client.namespace", names.Namespace)
	t.span.Text("signpost.client.pod", names.Pod)
	t.span.Text("signpost.client.node", names.Node)
	if debug {
		t.log = s.log.With("call", s.callIDs.Add(1), "method", method, "path", sanitize.Cut(r.GetPath()))
		t.log.Debug("Call started", "client", client, "namespace", sanitize.Cut(names.Namespace), "pod", sanitize.Cut(names.Pod), "node", sanitize.Cut(names.Node))
	}
	return t
}

// sent counts a message.
func (t *callLog) sent(f *frame) {
	if t == nil {
		return
	}
	t.total.count(f)
	t.step.count(f)
}

func (t *callLog) responseSent(a *response) {
	if t == nil || t.step.messages == 0 {
		return
	}
	if t.log != nil {
		t.log.Debug("Response sent", "endpoints", len(a.entries), "added", t.step.added, "removed", t.step.removed, "exists", a.exists, "version", a.version)
	}
	t.step = counts{}
}

func (t *callLog) profileSent(a *profileResponse) {
	if t == nil {
		return
	}
	if t.log != nil {
		t.log.Debug("Response sent", "subject", nameOf(a.snapshot.Result), "bytes", len(a.own)+len(a.shared), "version", a.version)
	}
	t.step = counts{}
}

// end logs the end of the call with its error, nil for the status OK, and ends the span.
func (t *callLog) end(ctx context.Context, err error) {
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
	t.log.Debug("Call ended", "status", code, "reason", reasonOf(ctx, err), "messages", t.total.messages,
		"added", t.total.added, "removed", t.total.removed, "lasted", time.Since(t.begun).Round(time.Millisecond))
}

// reasonOf returns the reason for the end of a call.
func reasonOf(ctx context.Context, err error) string {
	switch {
	case err != nil:
		return sanitize.Cut(status.Convert(err).Message())
	case ctx.Err() != nil:
		return "the client disconnected"
	default:
		return "the server is stopping"
	}
}

// nameOf returns the name of the result of a profile query, for the log.
func nameOf(s catalog.ProfileResult) string {
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

package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/httplimits"
)

const (
	// readsAtATime and writesAtATime limit the parallel requests. Others get 503.
	readsAtATime, writesAtATime = 16, 4
	// accessTime limits the authorisation of a token.
	accessTime = 5 * time.Second
)

// Access authorises requests with a token.
type Access interface {
	// Allow returns nil if the request is allowed, else the reason, which is shown to the client. The
	// error is a [*Refused] unless the token could not be checked.
	Allow(ctx context.Context, a Attempt) error
}

// Attempt is a request with a token.
type Attempt struct {
	Token string
	// Verb is the method in lower case, such as "get". Path is the path of the request.
	Verb, Path string
	// From is the address of the client; invalid if unknown.
	From netip.Addr
}

// ApproveAudience returns the audience of a token that is only valid for the approval of one plan.
// The hash must be valid ([ValidHash]).
func ApproveAudience(hash string) string { return "signpost.dev/approve/" + hash }

// Loopback says whether a request from this host needs a token.
type Loopback string

// Values of [Config.Loopback]. The zero value is LoopbackTrusted.
const (
	LoopbackTrusted   Loopback = "trusted"
	LoopbackUntrusted Loopback = "untrusted"
)

// sameUser is the context key of [WithSameUser].
type sameUser struct{}

// WithSameUser returns a context for the requests of a connection whose client was proved to run as
// the user of this process, in its container. Such a client could read and change the memory of
// this process, so its requests need no token.
func WithSameUser(ctx context.Context) context.Context {
	return context.WithValue(ctx, sameUser{}, true)
}

// Refused says, in a sentence, why a token isn't sufficient.
type Refused struct{ Reason string }

// Error implements error.
func (r *Refused) Error() string { return r.Reason }

// Guard authorises requests for a handler, of the inspection API or of the web page. It responds with 403 to
// forbidden requests, and limits the parallel others.
func (s *Server) Guard(next http.Handler) http.Handler {
	limited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		next.ServeHTTP(w, r)
	})
	busy := func(w http.ResponseWriter, r *http.Request) {
		httplimits.DropBody(w, r)
		reply(w, http.StatusServiceUnavailable, Failure{Error: "too many requests at a time: try again"})
	}
	read, write := httplimits.Limit(readsAtATime, busy)(limited), httplimits.Limit(writesAtATime, busy)(limited)
	return s.admitted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isRead(r) {
			read.ServeHTTP(w, r)
		} else {
			write.ServeHTTP(w, r)
		}
	}))
}

// admitted responds with 403 to forbidden requests.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.admit(r); err != nil {
			httplimits.DropBody(w, r)
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isRead reports whether a request changes nothing.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// verbOf returns the verb that a role must allow: HEAD counts as GET.
func verbOf(r *http.Request) string {
	if isRead(r) {
		return "get"
	}
	return strings.ToLower(r.Method)
}

// MayRead reports whether the client of a request may read the inspection API, regardless of the
// path.
func (s *Server) MayRead(r *http.Request) bool {
	read := r.Clone(r.Context())
	read.Method, read.URL = http.MethodGet, &url.URL{Path: StatusPath}
	return s.admit(read) == nil
}

// admit returns nil if a request is allowed, else the reason. A request needs a token that allows
// it, with two exceptions: a client that was proved to run as our user may do everything, and a
// client on the loopback interface may read, unless that is disabled. A request from a web page of
// another origin is always refused.
func (s *Server) admit(r *http.Request) error {
	token, err := bearer(r)
	if err != nil {
		return err
	}
	if reason := crossOriginPage(r); reason != "" {
		return forbidden(reason)
	}
	if token == "" {
		return s.admitWithoutToken(r)
	}
	if s.config.Access == nil {
		return forbidden("a token can't be checked, because this process has no cluster to ask: forward the port, with kubectl port-forward, and use localhost without a token")
	}
	ctx, cancel := context.WithTimeout(r.Context(), accessTime)
	defer cancel()
	err = s.config.Access.Allow(ctx, Attempt{Token: token, Verb: verbOf(r), Path: r.URL.Path, From: clientAddress(r)})
	var denied *Refused
	switch {
	case errors.As(err, &denied):
		return forbidden(denied.Reason)
	case err != nil:
		return refused(http.StatusServiceUnavailable, fmt.Errorf("the token can't be checked now: %.300v", err))
	default:
		return nil
	}
}

func (s *Server) admitWithoutToken(r *http.Request) error {
	if proved, _ := r.Context().Value(sameUser{}).(bool); proved {
		return nil
	}
	if s.config.Loopback == LoopbackUntrusted {
		return forbidden("each request needs a token here, because --inspect-trust-loopback is false: send the token of an account that may get this path (Authorization: Bearer)")
	}
	if reason := nonLocalHost(r); reason != "" {
		return forbidden(reason + s.forward())
	}
	if !isRead(r) {
		// A forwarded port looks like a proxy beside the process, which may pass on requests of the
		// whole network.
		return forbidden("a request that changes something needs a token, also from this host: use `signpost approve`, which makes one, or run it in the pod with kubectl exec")
	}
	return nil
}

func forbidden(reason string) error {
	return refused(http.StatusForbidden, errors.New(reason))
}

// forward says how to use a request that doesn't come from this host.
func (s *Server) forward() string {
	const forward = ": forward the port, with kubectl port-forward, and use localhost"
	if s.config.Access == nil {
		return forward
	}
	return forward + ", or send a token of a service account that may get this path (Authorization: Bearer)"
}

// bearer returns the token of a request; "" if it has none.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", refused(http.StatusUnauthorized, errors.New("the header Authorization must be there once, as Bearer and a token"))
	}
	return token, nil
}

// clientAddress returns the address of the client; invalid if unknown.
func clientAddress(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap()
}

// nonLocalHost says why a request isn't from this host to this host; "" if it is. Only the loopback
// addresses 127.0.0.1 and ::1 count, because Istio's sidecar connects from 127.0.0.6 and passes on
// requests of any pod, with any Host.
func nonLocalHost(r *http.Request) string {
	switch {
	case !isThisHost(clientAddress(r)):
		return "the request is not from this host (127.0.0.1 or ::1)"
	case !loopbackName(r.Host):
		return "the request is for another host than localhost"
	default:
		return ""
	}
}

var thisHost = [...]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

func isThisHost(a netip.Addr) bool { return a == thisHost[0] || a == thisHost[1] }

// crossOriginPage says why a request is from a web page of another origin; "" if it isn't.
func crossOriginPage(r *http.Request) string {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		origin, err := url.Parse(origins[0])
		if err != nil || len(origins) > 1 || origin.Scheme != "http" || origin.Host != r.Host {
			return "the request is from a web page of another origin"
		}
	}
	// Browsers send this header also where they send no Origin.
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "the request is from a web page of another site"
	}
	return ""
}

// loopbackName reports whether a host, with or without a port, is localhost, 127.0.0.1 or [::1].
func loopbackName(host string) bool {
	name := host
	if before, _, err := net.SplitHostPort(host); err == nil {
		name = before
	} else if bare, ok := strings.CutPrefix(host, "["); ok {
		name = strings.TrimSuffix(bare, "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && isThisHost(address)
}

func reply(w http.ResponseWriter, code int, value any) {
	setHeaders(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// Encode only fails if the client is gone.
	_ = json.NewEncoder(w).Encode(value)
}

func setHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

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
)

const (
	// readsAtATime and writesAtATime are how many requests are answered at a time. Others get 503.
	readsAtATime, writesAtATime = 16, 4
	// bodyTime is how long a client may take to send a body.
	bodyTime = 10 * time.Second
	// accessTime is how long it may take to find out what a token allows.
	accessTime = 5 * time.Second
)

// Access decides what whoever has a token may do.
type Access interface {
	// Allow returns nil if the request may be made, and otherwise why not, which is shown to
	// whoever asks. It is a [*Refused] unless that couldn't be found out. The verb is "get" or
	// "post", and the path that of the request.
	Allow(ctx context.Context, token, verb, path string) error
}

// Refused is why a token isn't enough, in a sentence.
type Refused struct{ Reason string }

// Error implements error.
func (r *Refused) Error() string { return r.Reason }

// Guard lets those have something else who may have the inspection API, such as the page.
func (s *Server) Guard(next http.Handler) http.Handler { return s.guard(next) }

// guard answers requests that nobody may make by 403, and lets few others in at a time.
func (s *Server) guard(next http.Handler) http.Handler {
	reads, writes := make(chan struct{}, readsAtATime), make(chan struct{}, writesAtATime)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A reader that has no deadline is not that of a connection.
		body := http.NewResponseController(w)
		if err := s.admit(r); err != nil {
			_ = body.SetReadDeadline(time.Now()) // nobody waits for the rest of the request
			refuse(w, err)
			return
		}
		room := writes
		if r.Method == http.MethodGet {
			room = reads
		}
		select {
		case room <- struct{}{}:
			defer func() { <-room }()
		default:
			_ = body.SetReadDeadline(time.Now())
			fail(w, http.StatusServiceUnavailable, Failure{Error: "too many requests at a time: try again"})
			return
		}
		_ = body.SetReadDeadline(time.Now().Add(bodyTime))
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		next.ServeHTTP(w, r)
	})
}

// admit returns why a request is refused; nil if it isn't. It has to come from this host, or have a
// token that allows it, and in no case it may come from a web page of somebody else.
func (s *Server) admit(r *http.Request) error {
	token, err := bearer(r)
	if err != nil {
		return err
	}
	if reason := foreignPage(r); reason != "" {
		return forbidden(reason)
	}
	if token == "" {
		if reason := foreignHost(r); reason != "" {
			return forbidden(reason + s.forward())
		}
		return nil
	}
	if s.config.Access == nil {
		return forbidden("a token can't be checked, because this process has no cluster to ask: forward the port, with kubectl port-forward, and use localhost without a token")
	}
	ctx, cancel := context.WithTimeout(r.Context(), accessTime)
	defer cancel()
	err = s.config.Access.Allow(ctx, token, strings.ToLower(r.Method), r.URL.Path)
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		return forbidden(refused.Reason)
	case err != nil:
		return &refusal{http.StatusServiceUnavailable, Failure{Error: fmt.Sprintf("the token can't be checked now: %.300v", err)}}
	default:
		return nil
	}
}

func forbidden(reason string) error {
	return &refusal{http.StatusForbidden, Failure{Error: reason}}
}

// forward says what to do with a request that is not from here.
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
		return "", &refusal{http.StatusUnauthorized, Failure{Error: "the header Authorization must be there once, as Bearer and a token"}}
	}
	return token, nil
}

// foreignHost says why a request is not from this host to this host; "" if it is.
func foreignHost(r *http.Request) string {
	switch from, err := netip.ParseAddrPort(r.RemoteAddr); {
	case err != nil || !from.Addr().Unmap().IsLoopback():
		return "the request is not from this host"
	case !loopbackName(r.Host):
		return "the request is for another host than localhost"
	default:
		return ""
	}
}

// foreignPage says why a request is from a web page of somebody else; "" if it isn't.
func foreignPage(r *http.Request) string {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		origin, err := url.Parse(origins[0])
		if err != nil || len(origins) > 1 || origin.Scheme != "http" || origin.Host != r.Host {
			return "the request is from a web page of another origin"
		}
	}
	// Browsers send this one also where they send no Origin.
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "the request is from a web page of another site"
	}
	return ""
}

// loopbackName reports whether a host, with or without a port, is this one.
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
	return err == nil && address.Zone() == "" && address.Unmap().IsLoopback()
}

func fail(w http.ResponseWriter, code int, f Failure) { reply(w, code, f) }

func reply(w http.ResponseWriter, code int, value any) {
	answerHeaders(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// It fails only if the client went away.
	_ = json.NewEncoder(w).Encode(value)
}

func answerHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

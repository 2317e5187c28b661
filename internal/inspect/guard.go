package inspect

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	// atATime is how many requests are answered at a time. Others get 503.
	atATime = 4
	// bodyTime is how long a client may take to send a body.
	bodyTime = 10 * time.Second
)

// guard answers requests that are not from this host, or that a web page may have sent, by 403, and
// lets few others in at a time.
func guard(next http.Handler) http.Handler {
	room := make(chan struct{}, atATime)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A reader that has no deadline is not that of a connection.
		body := http.NewResponseController(w)
		if reason := foreign(r); reason != "" {
			_ = body.SetReadDeadline(time.Now()) // nobody waits for the rest of the request
			fail(w, http.StatusForbidden, Failure{Error: reason})
			return
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

// foreign says why a request is refused; "" if it isn't.
func foreign(r *http.Request) string {
	const forward = ": forward the port, with kubectl port-forward, and use localhost"
	switch from, err := netip.ParseAddrPort(r.RemoteAddr); {
	case err != nil || !from.Addr().Unmap().IsLoopback():
		return "the request is not from this host" + forward
	case !loopbackName(r.Host):
		return "the request is for another host than localhost" + forward
	}
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
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// It fails only if the client went away.
	_ = json.NewEncoder(w).Encode(value)
}

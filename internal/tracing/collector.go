package tracing

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// collector is where spans go.
type collector struct {
	// address is HOST:PORT.
	address string
	// plain is true without TLS.
	plain bool
}

// defaultPort is that of OTLP over gRPC.
const defaultPort = "4317"

// ParseCollector reads HOST:PORT or http://HOST:PORT, which are without TLS, or https://HOST:PORT. The port may be left out
// of a URL. The error says what is allowed; the caller adds which setting it is about.
func ParseCollector(text string) (to collector, err error) {
	if host, port, err := net.SplitHostPort(text); err == nil && validPort(port) {
		if host == "" {
			return collector{}, errWant
		}
		return collector{address: text, plain: true}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return collector{}, errWant
	}
	if u.User != nil || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		return collector{}, fmt.Errorf("%w, without a user, a path or a query", errWant)
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	if !validPort(port) {
		return collector{}, errWant
	}
	return collector{address: net.JoinHostPort(u.Hostname(), port), plain: u.Scheme == "http"}, nil
}

// errWant says what a collector is.
var errWant = errors.New("must be HOST:PORT of an OpenTelemetry collector that takes OTLP over gRPC, or https://HOST:PORT for TLS")

func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

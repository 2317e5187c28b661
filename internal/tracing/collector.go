package tracing

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// collector is the destination of spans.
type collector struct {
	// address is HOST:PORT.
	address string
	// plain is true without TLS.
	plain bool
}

// defaultPort is the port of OTLP over gRPC.
const defaultPort = "4317"

// ParseCollector parses HOST:PORT or http://HOST:PORT (without TLS), or https://HOST:PORT. The port of a URL
// is optional. The error says what is allowed; the caller adds the name of the setting.
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

// errWant describes a valid collector.
var errWant = errors.New("must be HOST:PORT of an OpenTelemetry collector that takes OTLP over gRPC, or https://HOST:PORT for TLS")

func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

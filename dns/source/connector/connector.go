package connector

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// timeout limits the time to connect, and then the time to read the whole response.
const timeout = 30 * time.Second

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: "connector", Summary: "Records that a server of your own sends over TCP, encoded as gob", Category: "special",
		New: func() source.Config { return NewConfig() },
	}
}

// Config is the settings of the source. [NewConfig] creates it.
type Config struct {
	source.NoObjects
	// Server is the host and port of the server.
	Server string

	timeout time.Duration
}

// NewConfig returns a config with the defaults.
func NewConfig() *Config { return &Config{Server: "localhost:8080", timeout: timeout} }

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Server, "connector-source-server", c.Server, "host:port of the server that sends the records of the source connector")
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	if _, _, err := net.SplitHostPort(c.Server); err != nil {
		return source.Source{}, fmt.Errorf("--connector-source-server %q: %w; use host:port", c.Server, err)
	}
	poll := func(ctx context.Context) ([]*dns.RecordSet, error) {
		records, err := c.poll(ctx)
		for _, r := range records {
			r.Properties = in.Settings.Declared.Ours(r.Properties, in.Settings.Prefixes)
		}
		return records, err
	}
	return source.Source{Poll: poll}, nil
}

func (c *Config) poll(ctx context.Context) ([]*dns.RecordSet, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.Server)
	if err != nil {
		return nil, fmt.Errorf("dial the server of the source connector: %w; check --connector-source-server", err)
	}
	defer conn.Close()
	// Reading ends with the context: at a timeout, or when the process ends.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	if err := conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, fmt.Errorf("read records from %s: %w", c.Server, err)
	}
	records, err := decode(conn)
	if err != nil {
		return nil, fmt.Errorf("read records from %s: %w", c.Server, err)
	}
	return records, nil
}

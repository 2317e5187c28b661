// Package pdnstest runs a real PowerDNS on free loopback ports, for the tests of packages pdns and rfc2136
// and for the benchmark. Its zones are in files of its own.
//
// A [Server] is ready when [Start] returns. It needs no privileges and shares nothing with a PowerDNS of the
// system. Nothing is left after Stop, and the server ends with the process that started it. The package needs
// the program pdns_server with its lmdb backend, in the PATH or in /usr/sbin; with [Config.Key] also its
// gsqlite3 backend, and the program sqlite3. `make deps` installs them.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine, except Stop, which is called once.
package pdnstest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/signpostd/signpost/internal/childprocess"
)

// APIKey is the API key of each server.
const APIKey = "key-of-the-test"

const (
	startWithin = 30 * time.Second
	stopWithin  = 10 * time.Second
)

// Server is a running pdns_server.
type Server struct {
	// API is the URL of the HTTP API, and DNS the address for queries over UDP and TCP.
	API, DNS string

	process *childprocess.Process
	dir     string
	key     *Key
}

// Config configures a server. The zero Config is a server with its API only.
type Config struct {
	// Key enables dynamic updates (RFC 2136) and transfers of the zones of CreateZone, signed with this key
	// only. Without it there are no updates.
	Key *Key
}

// Start starts a server without zones and waits until its API responds. The server runs until Stop is called,
// even after the end of ctx.
func Start(ctx context.Context, c Config) (*Server, error) {
	s, err := start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start pdns_server: %w", err)
	}
	if err := cmp.Or(s.ready(ctx), s.addKey(ctx)); err != nil {
		said, _ := os.ReadFile(s.output())
		s.Stop()
		return nil, fmt.Errorf("start pdns_server: %w: run `make deps` if a backend is missing; it said:\n%s", err, said)
	}
	return s, nil
}

func start(ctx context.Context, c Config) (*Server, error) {
	binary, err := childprocess.Find("pdns_server")
	if err != nil {
		return nil, err
	}
	dns, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	api, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pdnstest-")
	if err != nil {
		return nil, err
	}
	s := &Server{API: fmt.Sprintf("http://127.0.0.1:%d", api), DNS: fmt.Sprintf("127.0.0.1:%d", dns), dir: dir, key: c.Key}
	backend, err := s.backend(ctx)
	if err == nil {
		err = s.launch(binary, dns, api, backend)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) output() string { return filepath.Join(s.dir, "output") }

// launch starts the program with the given configuration lines for the backend.
func (s *Server) launch(binary string, dns, api uint16, backend string) error {
	config := backend + fmt.Sprintf(`socket-dir=%[1]s
local-address=127.0.0.1
local-port=%[2]d
webserver=yes
webserver-address=127.0.0.1
webserver-port=%[3]d
api=yes
api-key=%[4]s
daemon=no
guardian=no
loglevel=2
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
security-poll-suffix=
`, s.dir, dns, api, APIKey)
	if err := os.WriteFile(filepath.Join(s.dir, "pdns.conf"), []byte(config), 0o600); err != nil {
		return err
	}
	output, err := os.Create(s.output())
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command(binary, "--config-dir="+s.dir)
	cmd.Stdout, cmd.Stderr = output, output
	s.process, err = childprocess.Start(cmd, syscall.SIGKILL)
	return err
}

// ready waits until the API responds.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, errors.New("its API doesn't answer"))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := s.Request(ctx, http.MethodGet, "zones", nil); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.process.Exited():
			return errors.New("it has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Stop ends the server and removes its zones.
func (s *Server) Stop() {
	s.process.Stop(stopWithin)
	_ = os.RemoveAll(s.dir)
}

// CreateZone creates an empty zone. The name has no trailing dot; the ID of the zone is the name with one.
func (s *Server) CreateZone(ctx context.Context, name string) error {
	_, err := s.Request(ctx, http.MethodPost, "zones", map[string]any{
		"name": name + ".", "kind": "Native", "nameservers": []string{"ns1.elsewhere.test."},
	})
	if err != nil || s.key == nil {
		return err
	}
	return s.allowKey(ctx, name)
}

// Request sends a request to the API, with message as JSON body. The path is relative to the server's, such
// as zones. A status other than 2xx is an error.
func (s *Server) Request(ctx context.Context, method, path string, message any) (string, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.API+"/api/v1/servers/localhost/"+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("X-API-Key", APIKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %s: %s", method, path, resp.Status, text)
	}
	return string(text), err
}

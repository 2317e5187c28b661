package pdns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/providertest"
	"github.com/signpostd/signpost/internal/childprocess"
)

const apiKey = "key-of-the-test"

// server is the PowerDNS of these tests.
var server struct{ api, dns string }

func TestMain(m *testing.M) { providertest.Main(m, "PowerDNS", startServer) }

// startServer starts PowerDNS with zones in files of its own.
func startServer() (stop func(), err error) {
	binary, err := program()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pdns-test-")
	if err != nil {
		return nil, err
	}
	apiPort, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	dnsPort, err := childprocess.Port()
	if err != nil {
		return nil, err
	}
	server.api, server.dns = fmt.Sprintf("http://127.0.0.1:%d", apiPort), fmt.Sprintf("127.0.0.1:%d", dnsPort)
	config := fmt.Sprintf(`launch=lmdb
lmdb-filename=%[1]s/zones
socket-dir=%[1]s
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
`, dir, dnsPort, apiPort, apiKey)
	if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd := exec.Command(binary, "--config-dir="+dir)
	cmd.Stdout, cmd.Stderr = output, output
	process, err := childprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	stop = func() {
		process.Stop(10 * time.Second)
		_ = os.RemoveAll(dir)
	}
	if err := answers(); err != nil {
		said, _ := os.ReadFile(output.Name())
		stop()
		return nil, fmt.Errorf("%w: run make deps if a backend is missing; it said:\n%s", err, said)
	}
	return stop, nil
}

func program() (string, error) {
	if path, err := exec.LookPath("pdns_server"); err == nil {
		return path, nil
	}
	const path = "/usr/sbin/pdns_server"
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run make deps", err)
	}
	return path, nil
}

// answers waits until the API does.
func answers() error {
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := request(http.MethodGet, "zones", nil); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return errors.New("the API doesn't answer")
		}
	}
}

// request asks the API without our code.
func request(method, path string, message any) (string, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequest(method, server.api+"/api/v1/servers/localhost/"+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("X-API-Key", apiKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %s: %s", resp.Status, text)
	}
	return string(text), err
}

func mustRequest(t *testing.T, method, path string, message any) {
	t.Helper()
	if _, err := request(method, path, message); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// newZone makes a zone, without a dot at its end.
func newZone(t *testing.T, name string) dns.Zone {
	t.Helper()
	mustRequest(t, http.MethodPost, "zones", map[string]any{
		"name": name + ".", "kind": "Native", "nameservers": []string{"ns1.elsewhere.test."},
	})
	t.Cleanup(func() { mustRequest(t, http.MethodDelete, "zones/"+name+".", nil) })
	return dns.Zone{ID: name + ".", Name: name}
}

var zones atomic.Int64

func freshZone(t *testing.T) dns.Zone {
	t.Helper()
	return newZone(t, fmt.Sprintf("z%d.example.test", zones.Add(1)))
}

func input() provider.Input {
	return provider.Input{
		Domains: dns.NewDomainFilter(nil, nil), Log: slog.New(slog.DiscardHandler),
		Wrap: func(rt http.RoundTripper) http.RoundTripper { return rt },
	}
}

func open(t *testing.T, in provider.Input) *powerDNS {
	t.Helper()
	p, err := (&Config{Server: server.api, ServerID: "localhost", APIKey: apiKey}).Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*powerDNS)
}

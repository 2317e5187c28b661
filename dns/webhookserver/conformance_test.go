package webhookserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/dns/webhookserver"
	"github.com/signpostd/signpost/testkit/providertest"
)

// serveVariable is an environment variable that makes the test binary a webhook provider for
// the zones in it.
const serveVariable = "SIGNPOST_TEST_WEBHOOK_ZONES"

func TestMain(m *testing.M) {
	if zones := os.Getenv(serveVariable); zones != "" {
		if err := serve(strings.Split(zones, ",")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// serve serves zones in memory until the process gets a signal. It prints its address.
func serve(zones []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p, err := (&inmemory.Config{Zones: zones}).Open(ctx, provider.Input{})
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	return webhookserver.New(defaults(p)).Run(ctx, l)
}

// startProcess starts this binary as a webhook provider, and returns its URL.
func startProcess(t *testing.T, zones ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	// With the race detector a process takes a second to end, unless an option disables that.
	cmd.Env = append(os.Environ(), serveVariable+"="+strings.Join(zones, ","), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the webhook provider: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// startHere starts a webhook provider in this process.
func startHere(t *testing.T, zones ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&inmemory.Config{Zones: zones}).Open(t.Context(), provider.Input{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- webhookserver.New(defaults(p)).Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func client(t *testing.T, url string, in provider.Input) provider.Provider {
	t.Helper()
	c := webhook.Plugin().New().(*webhook.Config)
	c.URL = url
	// Cleanups run after the test's context has ended, when the connections are closed.
	p, err := c.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The webhook client and server together pass the conformance kit of providers.
func TestConformance(t *testing.T) {
	const zone, sub, reverse = "example.test", "sub.example.test", "2.0.192.in-addr.arpa"
	for name, start := range map[string]func(*testing.T, ...string) string{"one process": startHere, "two processes": startProcess} {
		t.Run(name, func(t *testing.T) {
			providertest.Run(t, providertest.Options{
				Types: []string{
					dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeNS, dns.TypeMX,
					dns.TypePTR, dns.TypeSRV, dns.TypeNAPTR, dns.TypeDNAME,
				},
				Properties: []string{"webhook/x"},
				// The protocol can't report that the provider made a part of the changes.
				Rejects: func(string) []*dns.RecordSet { return nil },
				Open: func(t *testing.T, in provider.Input) providertest.Fixture {
					url := start(t, zone, sub, reverse)
					return providertest.Fixture{
						Provider: client(t, url, in), Zone: zone, Reverse: reverse,
						Reopen: func(t *testing.T) provider.Provider { return client(t, url, in) },
					}
				},
			})
		})
	}
}

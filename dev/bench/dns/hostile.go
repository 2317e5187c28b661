package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/hostiletest"
)

const (
	// hostileTime is how long a listing may take: as long as in the publisher.
	hostileTime = 5 * time.Minute
	// hostilePeak is how much memory an attack may cost at its peak, and hostileKept after it, in MiB.
	hostilePeak, hostileKept = 300, 16
)

// hostileFlags are the flags with which each provider is attacked.
var hostileFlags = map[string][]string{
	"webhook": nil, "pdns": {"--pdns-api-key=key"}, "cloudflare": nil, "aws": nil, "aws-sd": nil, "google": {"--google-project=" + clouddnstest.Project},
	"azure": {"--azure-config-file=azure.json"}, "libdns": {"--libdns-name=hetzner", "--libdns-config=hetzner.json", "--libdns-zone=" + hostiletest.Zone},
	"rfc2136": {"--rfc2136-zone=" + hostiletest.Zone, "--rfc2136-insecure", "--rfc2136-axfr"}, "coredns": nil,
}

// hostileCost is what an attack cost the process that was attacked: the peak of its memory over the
// start, and what its heap has more afterwards, in MiB.
type hostileCost struct {
	Peak, Kept, Seconds float64
	Error               string
}

// measureHostile has each provider read a hostile server, in a process of its own.
func measureHostile(ctx context.Context, r *measure.Report, _ measure.Options) error {
	dir, err := os.MkdirTemp("", "bench-hostile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeHostileFiles(dir); err != nil {
		return err
	}
	r.TitleBeside("", "memory that a hostile DNS server costs, in MiB over the start")
	for _, a := range hostileServers {
		address, stop, err := a.serve()
		if err != nil {
			return err
		}
		cost, err := attackProvider(ctx, dir, a.provider, address)
		stop()
		if err != nil {
			return fmt.Errorf("%s, %s: %w", a.provider, a.name, err)
		}
		reportHostile(r, a.provider+": "+a.name, cost)
	}
	for _, name := range []string{"webhook", "pdns", "cloudflare", "aws", "aws-sd", "google", "azure", "libdns"} {
		for _, a := range hostiletest.Attacks(name) {
			web := httptest.NewServer(a.Serve())
			cost, err := attackProvider(ctx, dir, name, web.URL)
			web.CloseClientConnections()
			web.Close()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, a.Name, err)
			}
			reportHostile(r, name+": "+a.Name, cost)
		}
	}
	return nil
}

// reportHostile reports what an attack cost. It has to be found out, too.
func reportHostile(r *measure.Report, name string, c hostileCost) {
	r.AtMost(name, "MB", c.Peak, hostilePeak)
	r.AtMost("… kept afterwards", "MB", c.Kept, hostileKept)
	r.Note("  after %.1f s: %s", c.Seconds, c.Error)
	if c.Error == "" {
		r.None("… without an error", 1, "the listing succeeded")
	}
}

// attackProvider has a process read what a server at an address has.
func attackProvider(ctx context.Context, dir, provider, address string) (hostileCost, error) {
	var cost hostileCost
	self, err := os.Executable()
	if err != nil {
		return cost, err
	}
	cmd := exec.CommandContext(ctx, self, "hostile", provider, address)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CF_API_TOKEN=token", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true",
		"GOOGLE_APPLICATION_CREDENTIALS="+filepath.Join(dir, "google.json"), "ETCD_URLS="+address)
	out, err := cmd.Output()
	if err != nil {
		return cost, err
	}
	return cost, json.Unmarshal(out, &cost)
}

func writeHostileFiles(dir string) error {
	azure, err := json.Marshal(map[string]any{
		"cloud": "AzureStackCloud", "tenantId": azuretest.Tenant, "subscriptionId": azuretest.Subscription, "resourceGroup": azuretest.Group,
		"aadClientId": azuretest.ClientID, "aadClientSecret": azuretest.ClientSecret,
		"resourceManagerEndpoint": hostiletest.AzureHost, "resourceManagerAudience": "https://management.invalid/", "activeDirectoryAuthorityHost": hostiletest.AzureHost,
	})
	return errors.Join(err,
		os.WriteFile(filepath.Join(dir, "azure.json"), azure, 0o600),
		os.WriteFile(filepath.Join(dir, "google.json"), clouddnstest.CredentialsJSON(), 0o600),
		os.WriteFile(filepath.Join(dir, "hetzner.json"), []byte(`{"api_token": "token"}`), 0o600))
}

// ReadHostile is the process that reads: its arguments are a provider and the address of its server.
func ReadHostile(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("give a provider and an address")
	}
	ctx, cancel := context.WithTimeout(ctx, hostileTime)
	defer cancel()
	options := configure.New()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.Flags(flags)
	given := append([]string{"--provider=" + args[0]}, hostileFlags[args[0]]...)
	if args[0] == "rfc2136" {
		host, port, _ := strings.Cut(args[1], ":")
		given = append(given, "--rfc2136-host="+host, "--rfc2136-port="+port)
	}
	if err := flags.Parse(given); err != nil {
		return err
	}
	p, err := options.OpenProvider(ctx, configure.Input{Log: slog.New(slog.DiscardHandler), Wrap: hostileWrap(args[0], args[1])})
	if err != nil {
		return err
	}
	start, err := peakOfSelf()
	if err != nil {
		return err
	}
	var cost hostileCost
	heap, begun := heapInUse(), time.Now()
	if err := hostiletest.List(ctx, p); err != nil {
		cost.Error = err.Error()
	}
	cost.Seconds = time.Since(begun).Seconds()
	peak, err := peakOfSelf()
	if err != nil {
		return err
	}
	cost.Peak, cost.Kept = peak-start, heapInUse()-heap
	runtime.KeepAlive(p)
	return json.NewEncoder(os.Stdout).Encode(cost)
}

// hostileWrap returns what has the requests of a provider reach a hostile server. The tokens of
// Azure come from a sound one.
func hostileWrap(provider, address string) func(http.RoundTripper) http.RoundTripper {
	hostile := hostiletest.To(address, &http.Transport{})
	if provider != "azure" {
		return func(http.RoundTripper) http.RoundTripper { return hostile }
	}
	sound := azuretest.New().Transport()
	return func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/subscriptions/") {
				return hostile.RoundTrip(r)
			}
			return sound.RoundTrip(r)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// heapInUse collects garbage, and returns how much the heap has then, in MiB.
func heapInUse() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse) / measure.Mebibyte
}

// peakOfSelf returns the most memory that was ever resident, in MiB.
func peakOfSelf() (float64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0, fmt.Errorf("read the memory of this process: %w", err)
	}
	return kib / 1024, nil
}

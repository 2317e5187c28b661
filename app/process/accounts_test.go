package process

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
)

// The publishers of a process share the rate limit of their account: after a response "too many
// requests" to one publisher, the other sends nothing.
func TestPublishersShareTheRateLimit(t *testing.T) {
	server := cloudflaretest.New()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	for name, value := range map[string]string{"CLOUDFLARE_BASE_URL": web.URL + "/client/v4", "CF_API_TOKEN": cloudflaretest.Token, "CF_API_KEY": "", "CF_API_EMAIL": ""} {
		t.Setenv(name, value)
	}
	options := settings.DNS{}
	for range 2 {
		options.Publishers = append(options.Publishers, dnsConfig(t, "--source=empty", "--provider=cloudflare", "--policy=sync", "--dry-run").DNS.Publishers...)
	}
	options.Publishers[0].Name, options.Publishers[1].Name = "first", "second"
	r, err := newDNSRole(t.Context(), roleInput{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	first, end := context.WithCancel(t.Context())
	defer end()
	var requests atomic.Int32
	server.SetHooks(cloudflaretest.Hooks{Before: func(cloudflaretest.Call) *cloudflaretest.Fault {
		requests.Add(1)
		return cloudflaretest.Throttled(20 * time.Second)
	}})
	// The first publisher waits for the pause, until its call ends.
	time.AfterFunc(500*time.Millisecond, end)
	for i, ctx := range []context.Context{first, soon(t)} {
		if _, err := r.opened[i].Publisher.Provider.Zones(ctx); err == nil {
			t.Errorf("publisher %d lists zones", i)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want one before the pause", n)
	}
}

// soon returns a context that ends long before the pause.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

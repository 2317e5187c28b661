package process

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// specMetrics are those of spec/dns.md §10, except those of caches: there are none, because
// mirrors keep the zones.
const specMetrics = `external_dns_build_info
external_dns_controller_consecutive_soft_errors
external_dns_controller_last_reconcile_timestamp_seconds
external_dns_controller_last_sync_timestamp_seconds
external_dns_controller_no_op_runs_total
external_dns_controller_verified_records
external_dns_http_request_duration_seconds
external_dns_registry_endpoints_total
external_dns_registry_errors_total
external_dns_registry_records
external_dns_registry_skipped_records_owner_mismatch_per_sync
external_dns_source_deduplicated_endpoints
external_dns_source_endpoints_total
external_dns_source_errors_total
external_dns_source_invalid_endpoints
external_dns_source_records
external_dns_webhook_provider_adjustendpoints_errors_total
external_dns_webhook_provider_adjustendpoints_requests_total
external_dns_webhook_provider_applychanges_errors_total
external_dns_webhook_provider_applychanges_requests_total
external_dns_webhook_provider_records_errors_total
external_dns_webhook_provider_records_requests_total`

// The metrics of ExternalDNS are there, and no others with a name like theirs.
func TestDNSMetrics(t *testing.T) {
	c := settings.NewDNSFlags()
	c.AddFlags(pflag.NewFlagSet("dns", pflag.ContinueOnError))
	o := c.Publisher
	o.Sources, o.Providers, o.Policy = []string{"service"}, []string{"webhook"}, "sync"
	withoutAPIServer(t, &c.Config)
	known := &knownMetrics{Registerer: prometheus.NewRegistry(), rows: map[string][]string{}}
	p, err := newProcess(t.Context(), c.Config, slog.New(slog.DiscardHandler), known, func(objectmeta.Problem) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range known.rows {
		if strings.HasPrefix(name, "external_dns_") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(strings.Split(specMetrics, "\n"), got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if len(p.Servers) > 0 {
		t.Error("there is a gRPC server")
	}
}

// serveDNS serves a publisher that needs no cluster.
func serveDNS(t *testing.T, change func(*configure.Options)) served {
	t.Helper()
	t.Setenv("KUBECONFIG", "nonesuch")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	c := settings.NewDNSFlags()
	o := c.Publisher
	o.Sources, o.Providers, o.Policy = []string{"empty"}, []string{"inmemory"}, "sync"
	change(o)
	return serveConfig(t, c.Config)
}

// /healthz answers as that of ExternalDNS does.
func TestDNSAdmin(t *testing.T) {
	s := serveDNS(t, func(*configure.Options) {})
	if code, body := s.fetch(t, "/healthz"); code != http.StatusOK || body != "OK" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	s.awaitReady(t, "leader: this process, without election")
	s.wantMetrics(t, "external_dns_registry_endpoints_total ", "external_dns_source_endpoints_total ")
	s.stop(t)
}

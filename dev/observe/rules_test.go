package observe

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
)

// An alertTest has series for an alert: one sample a minute, in the notation of promtool. With the bad ones
// the alert fires; with the good ones none does.
type alertTest struct{ bad, good string }

// p are the labels of a pod, and q those of another one.
const (
	p = `job="a/signpost", instance="1", namespace="a", pod="p"`
	q = `job="a/signpost", instance="2", namespace="a", pod="q"`
)

var alertTests = map[string]alertTest{
	"SignpostDown": {
		bad:  `up{P} 1 0x60`,
		good: "up{P} 1x60\nup{job=\"other\", instance=\"3\"} 0x60\nup{Q} 1 0x3 1x56",
	},
	"SignpostNotReady": {
		bad:  `signpost_ready{P} 0x60`,
		good: `signpost_ready{P} 0x3 1x57`,
	},
	"SignpostNoLeader": {
		bad:  "leader_election_master_status{P, name=\"signpost-dns\"} 1 0x60\nleader_election_master_status{Q, name=\"signpost-dns\"} 0x60\nleader_election_master_status{P, name=\"other\"} 1x60",
		good: "leader_election_master_status{P, name=\"signpost-dns\"} 1x30 0x30\nleader_election_master_status{Q, name=\"signpost-dns\"} 0x31 1x29",
	},
	"SignpostTwoLeaders": {
		bad:  "leader_election_master_status{P, name=\"signpost-dns\"} 1x60\nleader_election_master_status{Q, name=\"signpost-dns\"} 1x60",
		good: "leader_election_master_status{P, name=\"signpost-dns\"} 1x30 0x30\nleader_election_master_status{Q, name=\"signpost-dns\"} 0x29 1x31\nleader_election_master_status{P, name=\"signpost-controllers\"} 1x60",
	},
	"SignpostClocksDiffer": {
		bad:  `leader_election_clock_ahead_seconds{P, name="signpost-dns"} 0-1x60`,
		good: "leader_election_clock_ahead_seconds{P, name=\"signpost-dns\"} 0x60\nleader_election_clock_ahead_seconds{Q, name=\"signpost-dns\"} 0x9 30x5 4x45",
	},
	"SignpostViewStale": {
		bad:  `kube_table_stale_seconds{P, cluster="local", kind="pod"} 0+60x60`,
		good: "kube_table_stale_seconds{P, cluster=\"local\", kind=\"pod\"} 0 30 0x58\nkube_table_stale_seconds{P, cluster=\"east\", kind=\"pod\"} 0+60x60",
	},
	"SignpostForbidden": {
		bad:  `rest_client_requests_total{P, code="403", method="GET", host="h"} 0+1x60`,
		good: "rest_client_requests_total{P, code=\"403\", method=\"GET\", host=\"h\"} 4x60\nrest_client_requests_total{P, code=\"200\", method=\"GET\", host=\"h\"} 0+100x60",
	},
	"SignpostMemoryNearLimit": {
		bad:  "go_memstats_sys_bytes{P} 500e6x60\ngo_memstats_heap_released_bytes{P} 10e6x60\ngo_gc_gomemlimit_bytes{P} 500e6x60",
		good: "go_memstats_sys_bytes{P} 500e6x60\ngo_memstats_heap_released_bytes{P} 100e6x60\ngo_gc_gomemlimit_bytes{P} 500e6x60",
	},
	"SignpostStreamsBehind": {
		bad:  "destination_slowest_stream_lag_seconds_bucket{P, le=\"15\"} 0+10x60\ndestination_slowest_stream_lag_seconds_bucket{P, le=\"60\"} 0+60x60\ndestination_slowest_stream_lag_seconds_bucket{P, le=\"+Inf\"} 0+60x60",
		good: "destination_slowest_stream_lag_seconds_bucket{P, le=\"15\"} 0+50x60\ndestination_slowest_stream_lag_seconds_bucket{P, le=\"60\"} 0+60x60\ndestination_slowest_stream_lag_seconds_bucket{P, le=\"+Inf\"} 0+60x60",
	},
	"SignpostPanics": {
		bad:  `grpc_server_panics_total{P, grpc_method="Get"} 0x10 1x50`,
		good: "grpc_server_panics_total{P, grpc_method=\"Get\"} 1x60\ncontroller_panics_total{P, controller=\"endpoints\"} 1x60\nsignpost_dns_panics_total{P, plugin=\"provider\"} 1x60\nhttp_server_panics_total{P} 1x60",
	},
	"SignpostClientsRefused": {
		bad:  `destination_refused_total{P, reason="questions"} 0x10 5x50`,
		good: `destination_refused_total{P, reason="questions"} 5x60`,
	},
	"SignpostCatalogLag": {
		bad:  "endpointslices_informer_lag_seconds_bucket{P, le=\"10\"} 0+1x60\nendpointslices_informer_lag_seconds_bucket{P, le=\"25\"} 0+10x60\nendpointslices_informer_lag_seconds_bucket{P, le=\"+Inf\"} 0+10x60",
		good: "endpointslices_informer_lag_seconds_bucket{P, le=\"1\"} 0+10x60\nendpointslices_informer_lag_seconds_bucket{P, le=\"10\"} 0+10x60\nendpointslices_informer_lag_seconds_bucket{P, le=\"+Inf\"} 0+10x60\nendpointslices_informer_lag_seconds_bucket{Q, le=\"10\"} 0x60\nendpointslices_informer_lag_seconds_bucket{Q, le=\"+Inf\"} 0x60",
	},
	"SignpostLinkedClusterDown": {
		bad:  "linked_cluster_state{P, cluster=\"east\", state=\"stale\"} 1x60",
		good: "linked_cluster_state{P, cluster=\"east\", state=\"connecting\"} 1x3 stale\nlinked_cluster_state{P, cluster=\"east\", state=\"synced\"} _x3 1x57",
	},
	"SignpostLinkUnusable": {
		bad:  `linked_cluster_secret_unusable{P, secret="linkerd/east"} 1x60`,
		good: `linked_cluster_secret_unusable{P, secret="linkerd/east"} 1x3 stale`,
	},
	"SignpostXdsRefused": {
		bad:  `xds_refused_total{P, reason="names"} 0x10 5x50`,
		good: "xds_refused_total{P, reason=\"names\"} 5x60\nxds_refused_total{P, reason=\"unsynced\"} 0x10 50x50\nxds_refused_total{P, reason=\"node\"} 0+1x60",
	},
	"SignpostXdsRejected": {
		bad:  "xds_rejected{P, type=\"cds\"} 0x5 3x55\nxds_rejected{P, type=\"eds\"} 0x60",
		good: `xds_rejected{P, type="cds"} 0x5 3x10 0x45`,
	},
	"SignpostXdsBehind": {
		bad:  `xds_lag_seconds{P} 0+60x60`,
		good: "xds_lag_seconds{P} 0 30 60 120 0x56\nxds_lag_seconds{Q} 1x60",
	},
	"SignpostXdsPaced": {
		bad:  `xds_paced_seconds_sum{P} 0+40x60`,
		good: "xds_paced_seconds_sum{P} 0+40x20 800x40\nxds_paced_seconds_sum{Q} 0+20x60",
	},
	"SignpostEndpointsUnwritten": {
		bad:  `controller_oldest_unwritten_seconds{P, controller="endpoint"} 0+60x60`,
		good: `controller_oldest_unwritten_seconds{P, controller="endpoint"} 0 60 100 0x57`,
	},
	"SignpostWritesFailing": {
		bad:  "controller_writes_total{P, controller=\"endpoint\", operation=\"update\", result=\"error\"} 0+5x60\ncontroller_writes_total{P, controller=\"endpoint\", operation=\"update\", result=\"success\"} 0+10x60",
		good: "controller_writes_total{P, controller=\"endpoint\", operation=\"update\", result=\"conflict\"} 0+5x60\ncontroller_writes_total{P, controller=\"endpoint\", operation=\"update\", result=\"error\"} 0+1x60\ncontroller_writes_total{P, controller=\"endpoint\", operation=\"update\", result=\"success\"} 0+100x60",
	},
	"SignpostWritesContested": {
		bad:  `controller_repairs_total{P, controller="endpoint_slice"} 0+1x60`,
		good: `controller_repairs_total{P, controller="endpoint_slice"} 0x30 5x30`,
	},
	"SignpostZoneFailing": {
		bad:  `signpost_dns_zone_failing{P, zone="example.org", id="1"} 1x60`,
		good: "signpost_dns_zone_failing{P, zone=\"example.org\", id=\"1\"} 0 1x3 0x56\nsignpost_dns_provider_failing{P} 0x60",
	},
	"SignpostNamesFailing": {
		bad:  "signpost_dns_names_failing{P, zone=\"example.org\", id=\"1\"} 0x60\nsignpost_dns_names_repeating{P, zone=\"example.org\", id=\"1\"} 2x60",
		good: "signpost_dns_names_failing{P, zone=\"example.org\", id=\"1\"} 2x10 0x50\nsignpost_dns_names_repeating{P, zone=\"example.org\", id=\"1\"} 0x60",
	},
	"SignpostNamesPending": {
		bad:  `signpost_dns_names_pending{P, zone="example.org", id="1"} 2x60`,
		good: `signpost_dns_names_pending{P, zone="example.org", id="1"} 200x10 0x5 10x10 0x35`,
	},
	"SignpostDeletionsHeld": {
		bad:  `signpost_dns_deletions_held{P, zone="example.org", id="1"} 20x60`,
		good: `signpost_dns_deletions_held{P, zone="example.org", id="1"} 20x3 0x57`,
	},
	"SignpostBudgetStoreFailing": {
		bad:  `signpost_dns_budget_store_failing{P} 1x60`,
		good: `signpost_dns_budget_store_failing{P} 1x8 0x52`,
	},
	"SignpostPublishersUnled": {
		bad:  `signpost_dns_publishers_unled{P} 2x60`,
		good: `signpost_dns_publishers_unled{P} 2x3 0x57`,
	},
	"SignpostSourceFailing": {
		bad:  `signpost_dns_source_failing{P, source="ingress"} 1x60`,
		good: `signpost_dns_source_failing{P, source="ingress"} 1x5 0x55`,
	},
	"SignpostProviderThrottled": {
		// Time begins at 0.
		bad:  `signpost_dns_provider_throttled_until_timestamp_seconds{P} 60+60x60`,
		good: `signpost_dns_provider_throttled_until_timestamp_seconds{P} 120x60`,
	},
	"SignpostPublisherSilent": {
		// Time begins at 0, where the pod q never looked because it doesn't lead.
		bad: `external_dns_controller_last_reconcile_timestamp_seconds{P} 60x60`,
		good: "external_dns_controller_last_reconcile_timestamp_seconds{P} 60+60x60\nexternal_dns_controller_last_reconcile_timestamp_seconds{Q} 60x60\n" +
			"leader_election_master_status{P, name=\"signpost-dns\"} 1x60\nleader_election_master_status{Q, name=\"signpost-dns\"} 0x60",
	},
}

// Each alert fires with its bad series, not before its time, and with no good series does any fire.
func TestAlertsFire(t *testing.T) {
	for _, a := range allAlerts(t) {
		test, ok := alertTests[a.Alert]
		if !ok {
			t.Errorf("%s has no test", a.Alert)
			continue
		}
		t.Run(a.Alert, func(t *testing.T) {
			e := evaluated(t, test.bad, func(e *evaluator, at time.Duration) {
				if at < time.Duration(a.For) && slices.Contains(e.names(), a.Alert) {
					t.Errorf("it fires after %v, sooner than after %v", at, a.For)
				}
			})
			if got := e.names(); !slices.Equal(got, []string{a.Alert}) {
				t.Errorf("with bad series %v fire", got)
			}
			for name, text := range e.fired {
				if strings.Contains(text, "<no value>") || strings.Contains(text, "error") {
					t.Errorf("%s says %s", name, text)
				}
			}
			if e := evaluated(t, test.good, func(*evaluator, time.Duration) {}); len(e.fired) > 0 {
				t.Errorf("with good series these fire: %v", e.fired)
			}
		})
	}
	if len(alertTests) != len(allAlerts(t)) {
		t.Errorf("there are tests of %d alerts, and %d alerts", len(alertTests), len(allAlerts(t)))
	}
}

// evaluated evaluates all alerts over an hour of series, once a minute.
func evaluated(t *testing.T, series string, each func(*evaluator, time.Duration)) *evaluator {
	t.Helper()
	text := "load 1m\n"
	for line := range strings.Lines(strings.NewReplacer("{P", "{"+p, "{Q", "{"+q).Replace(series)) {
		text += "  " + strings.TrimSpace(line) + "\n"
	}
	s := promqltest.LoadedStorage(t, text)
	t.Cleanup(func() { _ = s.Close() })
	e := newEvaluator(t, s, allAlerts(t))
	for at := time.Duration(0); at <= time.Hour; at += time.Minute {
		e.at(t, time.Unix(0, 0).Add(at).UTC())
		each(e, at)
	}
	return e
}

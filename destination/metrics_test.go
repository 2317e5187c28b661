package destination

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// endpointMetrics returns the metrics of §7.1 about endpoints.
func (f *fixture) endpointMetrics() map[string]float64 {
	all := f.metrics()
	maps.DeleteFunc(all, func(name string, _ float64) bool { return !strings.HasPrefix(name, "endpoints_") })
	return all
}

// endpointSeries returns the expected endpoint metrics of one series.
func endpointSeries(hostname, node, port string, subscribers, updates, pods, exists float64) map[string]float64 {
	labels := fmt.Sprintf(`{cluster="local",hostname=%q,namespace="ns",nodename=%q,port=%q,service="web"}`, hostname, node, port)
	return map[string]float64{
		"endpoints_subscribers" + labels: subscribers, "endpoints_updates" + labels: updates,
		"endpoints_pods" + labels: pods, "endpoints_exists" + labels: exists,
	}
}

func merged(sets ...map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for _, s := range sets {
		maps.Copy(all, s)
	}
	return all
}

func expectMetrics(t *testing.T, what string, want, got map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// zonedObjects are the Service web with an endpoint hinted to the zone of n1 and
// two hinted to that of n2.
func zonedObjects() []catalog.Object {
	hint := func(zone string) func(*catalog.SliceEndpoint) {
		return func(e *catalog.SliceEndpoint) { e.HintZones = []string{zone} }
	}
	return put(service("web"), pod("a"), nodeIn("n1", "east"), nodeIn("n2", "west"), slice("s",
		at("10.0.0.1", podKey("a"), hint("east")), at("10.0.0.2", podKey("a"), hint("west")), at("10.0.0.3", podKey("a"), hint("west"))))
}

// Streams in different zones are one series, unless the configuration adds nodes. Queries without streams
// have no series (§7.1).
func TestEndpointMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), zonedObjects()...)
		expectMetrics(t, "without streams", map[string]float64{}, f.endpointMetrics())

		east, west := f.get(getPath, `{"nodeName":"n1"}`), f.get(getPath, `{"nodeName":"n2"}`)
		f.settle()
		expectMetrics(t, "two zones", endpointSeries("", "", "80", 2, 0, 2, 1), f.endpointMetrics())

		host := f.get("h.web.ns.svc.mycluster.local:81", "")
		f.settle()
		f.change(put(slice("s", at("10.0.0.1", podKey("a")))))
		expectMetrics(t, "after a change", merged(endpointSeries("", "", "80", 2, 1, 1, 1), endpointSeries("h", "", "81", 1, 1, 0, 1)), f.endpointMetrics())
		if got := f.metrics()[`destination_open_streams{method="Get"}`]; got != 3 {
			t.Errorf("%v open streams, want 3", got)
		}

		f.change(nil, service("web").ID())
		host.cancel()
		east.cancel()
		f.settle()
		expectMetrics(t, "without the Service", endpointSeries("", "", "80", 1, 2, 0, 0), f.endpointMetrics())

		f.change(put(slice("s"))) // the slice of no Service may be put in the same step or a later one
		f.change(put(service("web")))
		expectMetrics(t, "without endpoints", endpointSeries("", "", "80", 1, 3, 0, 1), f.endpointMetrics())
		f.change(nil, service("web").ID())
		expectMetrics(t, "without either", endpointSeries("", "", "80", 1, 4, 0, 0), f.endpointMetrics())

		west.cancel()
		f.settle()
		expectMetrics(t, "after the last stream", map[string]float64{}, f.endpointMetrics())
	})
}

func TestEndpointMetricsPerNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := testConfig()
		config.NodeMetrics = true
		f := start(t, config, zonedObjects()...)
		one, two, again := f.get(getPath, `{"nodeName":"n1"}`), f.get(getPath, `{"nodeName":"n2"}`), f.get(getPath, `{"nodeName":"n2"}`)
		nameless := f.get(getPath, "")
		f.settle()
		expectMetrics(t, "three nodes", merged(
			endpointSeries("", "n1", "80", 1, 0, 3, 1), endpointSeries("", "n2", "80", 2, 0, 3, 1), endpointSeries("", "", "80", 1, 0, 3, 1),
		), f.endpointMetrics())
		for _, c := range []*client{one, again, nameless} {
			c.cancel()
		}
		f.settle()
		expectMetrics(t, "one node", endpointSeries("", "n2", "80", 1, 0, 2, 1), f.endpointMetrics())
		two.cancel()
		f.settle()
		expectMetrics(t, "after the last stream", map[string]float64{}, f.endpointMetrics())
	})
}

// metricTypes are the metrics of this package: those of §7.1 with the same types, and our own.
var metricTypes = map[string]string{
	"endpoints_subscribers":                   "GAUGE",
	"endpoints_updates":                       "COUNTER",
	"endpoints_pods":                          "GAUGE",
	"endpoints_exists":                        "GAUGE",
	"profile_subscribers":                     "GAUGE",
	"profile_updates":                         "COUNTER",
	"workload_subscribers":                    "GAUGE",
	"workload_updates":                        "COUNTER",
	"service_subscribers":                     "GAUGE",
	"endpoint_updates_queue_overflow":         "COUNTER",
	"profile_updates_queue_overflow":          "COUNTER",
	"endpoint_profile_updates_queue_overflow": "COUNTER",

	"destination_open_streams":               "GAUGE",
	"destination_slowest_stream_lag_seconds": "HISTOGRAM",
	"destination_refused_total":              "COUNTER",
	"destination_address_conflicts_total":    "COUNTER",
	"destination_unread_bytes":               "GAUGE",
}

// Dashboards rely on the names and types of §7.1.
func TestMetricNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, change := stalled(t)
		slow := f.getStalled(getPath, "")
		f.settle()
		for range 2 * ringSize {
			change()
		}
		close(slow.reads)
		f.settle()
		families, err := f.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, family := range families {
			name := family.GetName()
			seen[name] = true
			if got, want := family.GetType().String(), metricTypes[name]; got != want {
				t.Errorf("%s is a %s, want %q", name, got, want)
			}
			if help := family.GetHelp(); help == "" || !strings.HasSuffix(help, ".") {
				t.Errorf("%s: its help is %q, want sentences", name, help)
			}
		}
		for name := range metricTypes {
			ofGet := strings.HasPrefix(name, "endpoints_") || strings.HasPrefix(name, "destination_") || name == "endpoint_updates_queue_overflow"
			if ofGet && !seen[name] {
				t.Errorf("%s is missing", name)
			}
		}
	})
}

// The lag of the slowest stream is sampled each second. It is zero when the stream has caught up.
func TestSlowestStreamLag(t *testing.T) {
	const count, sum = "destination_slowest_stream_lag_seconds_count", "destination_slowest_stream_lag_seconds_sum"
	synctest.Test(t, func(t *testing.T) {
		f, change := stalled(t)
		slow := f.getStalled(getPath, "")
		f.get(getPath, "")
		f.settle()
		expect := func(what string, d time.Duration, low, high float64) {
			t.Helper()
			before := f.metrics()
			time.Sleep(d)
			synctest.Wait()
			after := f.metrics()
			if got := after[count] - before[count]; got != d.Seconds() {
				t.Errorf("%s: %v samples in %v", what, got, d)
			}
			if got := after[sum] - before[sum]; got < low || got > high {
				t.Errorf("%s: the samples of %v add up to %v s, want %v to %v", what, d, got, low, high)
			}
		}
		expect("everything was sent", 10*time.Second, 0, 0)
		change() // takes a second
		expect("stalled", 10*time.Second, 55, 65)
		change()
		expect("stalled, and missing more", 10*time.Second, 165, 185)
		close(slow.reads)
		f.settle()
		expect("caught up", 10*time.Second, 0, 0)
	})
}

// quick is a client that reads at once.
type quick struct{}

func (quick) SendMsg(any) error { return nil }

// stuck is a client that doesn't read.
type stuck struct{ sending, done chan struct{} }

func (s stuck) SendMsg(any) error {
	close(s.sending)
	<-s.done
	return nil
}

// The lag of a new stream starts with the stream, even if the response is older.
func TestLagOfNewStream(t *testing.T) {
	type running interface {
		run(context.Context) error
		lag(time.Time) time.Duration
	}
	for name, open := range map[string]func(*Server, sender) (s running, release func()){
		"Get": func(s *Server, out sender) (running, func()) {
			topic := mustAcquire(s.topics.acquire(query{service: serviceKey("web"), port: 80}, subscriber{}))
			return &stream{server: s, topic: topic, out: out}, func() { s.topics.release(topic) }
		},
		"GetProfile": func(s *Server, out sender) (running, func()) {
			view := mustAcquire(s.profiles.acquire(catalog.ProfileQuery{Cluster: catalog.LocalCluster, Service: serviceKey("web"), Port: 80, ClusterDomain: s.config.ClusterDomain}, clientlimits.ClientID{}))
			return &profileStream{server: s, view: view, out: out}, func() { s.profiles.release(view) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, testConfig(), zonedObjects()...)
				// Another stream has had the response for an hour.
				earlier, release := open(f.server, quick{})
				go func() { defer release(); _ = earlier.run(t.Context()) }()
				time.Sleep(time.Hour)
				out := stuck{make(chan struct{}), make(chan struct{})}
				s, releaseNew := open(f.server, out)
				go func() { defer releaseNew(); _ = s.run(t.Context()) }()
				<-out.sending
				time.Sleep(5 * time.Second)
				if got := s.lag(time.Now()); got != 5*time.Second {
					t.Errorf("a stream that began 5 s ago is %v behind", got)
				}
				close(out.done)
				f.end()
				<-f.ended
				synctest.Wait()
			})
		})
	}
}

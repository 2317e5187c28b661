package process

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// The metrics of client-go are exported, with bounded labels for any number of servers and links.
func TestClientMetricsAreBounded(t *testing.T) {
	m := newClientMetrics()
	for i := range 3 * maxHosts {
		host := fmt.Sprintf("h%d:6443", i)
		m.Increment(t.Context(), fmt.Sprint(i), "GET", host)
		m.Increment(t.Context(), "<error>", fmt.Sprint("METHOD", i), "h0:6443")
		m.Observe(t.Context(), "LIST", url.URL{Host: host}, time.Second)
	}
	if n := testutil.CollectAndCount(m.duration); n != maxHosts+1 {
		t.Errorf("%d series of durations, want %d", n, maxHosts+1)
	}
	if n := testutil.CollectAndCount(m.requests); n > 2*maxHosts {
		t.Errorf("%d series of requests", n)
	}
	if n := testutil.ToFloat64(m.requests.WithLabelValues("<error>", other, "h0:6443")); n != 3*maxHosts {
		t.Errorf("%v requests without a response, want %d", n, 3*maxHosts)
	}
}

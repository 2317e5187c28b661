package clientlimits

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The log names a refused client, and has one line in ten seconds for each reason.
func TestRefusalLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		l := NewRefusalLog(slog.New(slog.NewTextHandler(&text, nil)))
		host, local := netip.MustParseAddrPort("10.0.0.7:0"), netip.MustParseAddrPort("127.0.0.1:4711")
		for range 3 {
			l.Refused(RefusedPending, host)
			l.Refused(RefusedQueryOfClient, local)
		}
		if got := text.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "limit=pending_requests client=10.0.0.7\n") ||
			!strings.Contains(got, "limit=questions_per_client client=127.0.0.1:4711\n") {
			t.Errorf("the log has\n%s", got)
		}
		time.Sleep(logInterval)
		l.Refused(RefusedPending, host)
		if n := strings.Count(text.String(), "client=10.0.0.7\n"); n != 2 {
			t.Errorf("after the interval there are %d lines", n)
		}
	})
}

package aws

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/route53test"
)

// failures counts the responses that are errors.
type failures struct {
	next  http.RoundTripper
	count *atomic.Int32
}

func (f failures) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.next.RoundTrip(r)
	if err == nil && resp.StatusCode/100 != 2 {
		f.count.Add(1)
	}
	return resp, err
}

// Two publishers with the same credentials stay within the limit of their account together.
func TestTwoPublishersOfAnAccount(t *testing.T) {
	withFixture(t, func(w *fixture) {
		for i := range 40 {
			w.server.AddZone(route53test.Zone{ID: fmt.Sprint("Z", i+2), Name: fmt.Sprintf("z%d.test", i)})
		}
		var failed atomic.Int32
		w.Wrap = func(next http.RoundTripper) http.RoundTripper { return failures{next, &failed} }
		w.Server.Operations()
		begun := time.Now()
		w.Together()
		sent := 0
		for _, n := range w.Server.Operations() {
			sent += n
		}
		if rate := float64(sent) / time.Since(begun).Seconds(); failed.Load() > 0 || rate > 5 || sent < 80 {
			t.Errorf("%d requests, %.1f in a second, %d were refused", sent, rate, failed.Load())
		}
	})
}

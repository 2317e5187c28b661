package panics

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// crash fails in one of two places.
func crash(how string) error {
	switch how {
	case "panic":
		panic("on purpose" + strings.Repeat("!", 100_000))
	case "nil pointer":
		var m *struct{ n int }
		m.n++
	case "error":
		return errors.New("as usual")
	}
	return nil
}

// A panic becomes an error with its location and is counted. Its stack is logged once per location, and again
// after a while. Other errors are returned unchanged.
func TestCatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		count := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "panics_total"}, []string{"unit"})
		r := New(slog.New(slog.NewTextHandler(&log, nil)), count)
		for _, tc := range []struct {
			how, want string
			after     time.Duration
			counted   float64
			stacks    int
		}{
			{"", "", 0, 0, 0},
			{"error", "as usual", 0, 0, 0},
			{"panic", "panics.crash:", 0, 1, 1},
			{"nil pointer", "nil pointer", 0, 2, 1},
			{"panic", "on purpose", LogInterval - time.Second, 3, 0},
			{"panic", "on purpose", time.Second, 4, 1},
		} {
			time.Sleep(tc.after)
			log.Reset()
			err := r.Catch("work", func() error { return crash(tc.how) })
			if got := text(err); !strings.Contains(got, tc.want) || tc.want == "" && got != "" || len(got) > 1000 {
				t.Errorf("%s: got the error %.300q, want %q", tc.how, got, tc.want)
			}
			if got := testutil.ToFloat64(count.WithLabelValues("work")); got != tc.counted {
				t.Errorf("%s: counted %v, want %v", tc.how, got, tc.counted)
			}
			if got := strings.Count(log.String(), "stack="); got != tc.stacks || log.Len() > 20_000 {
				t.Errorf("%s: %d stacks in %d bytes of log, want %d", tc.how, got, log.Len(), tc.stacks)
			}
		}
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

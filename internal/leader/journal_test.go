package leader

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The recovery of requests for the Lease is logged once, when neither reads nor writes fail. It was logged
// for reads and for writes (B11).
func TestOneLogLineWhenRequestsSucceedAgain(t *testing.T) {
	var out bytes.Buffer
	c := Config{Namespace: "ns", Name: "lease", Identity: "a", Log: slog.New(slog.NewTextHandler(&out, nil)), Registerer: prometheus.NewRegistry()}
	j, err := newJournal(c, Unfenced())
	if err != nil {
		t.Fatal(err)
	}
	holderInfo := func() int { return strings.Count(out.String(), "Requests for the lease succeed again") }
	j.succeeded(read, write)
	j.failed(read, errors.New("refused"))
	j.failed(write, errors.New("refused"))
	j.succeeded(read)
	if n := holderInfo(); n != 0 {
		t.Errorf("%d lines while writes fail", n)
	}
	j.succeeded(read, write)
	j.succeeded(read, write)
	if n := holderInfo(); n != 1 {
		t.Errorf("%d lines, want one:\n%s", n, &out)
	}
	// A process that sees another leader no longer writes, so nothing fails any more.
	j.failed(write, errors.New("conflict"))
	j.observe("b", time.Now())
	j.observe("b", time.Now())
	if n := holderInfo(); n != 2 {
		t.Errorf("%d lines, want two:\n%s", n, &out)
	}
}

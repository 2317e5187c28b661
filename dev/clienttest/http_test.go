package clienttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Metric returns each series of a metric, and no metric whose name begins alike. A page that is
// missing is an error.
func TestMetric(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# HELP open Text.\nopen{of=\"a b\"} 2\nopen 1e3\nopened 7\n")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	admin := strings.TrimPrefix(server.URL, "http://")
	if got, err := Metric(t.Context(), admin, "open"); err != nil || !slices.Equal(got, []float64{2, 1000}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := Ready(t.Context(), admin); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("/ready is missing: %v", err)
	}
}

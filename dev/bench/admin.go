package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// adminGet returns the status and the body of an address of Signpost's admin server.
func adminGet(ctx context.Context, path string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+adminAddr+path, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("ask the admin server: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// heapAfterGC returns the bytes of live heap in Signpost.
func heapAfterGC(ctx context.Context) (float64, error) {
	// The profile is thrown away: asking for it collects the garbage.
	if _, _, err := adminGet(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	v, err := metric(ctx, "go_memstats_heap_alloc_bytes")
	if len(v) != 1 {
		return 0, fmt.Errorf("read go_memstats_heap_alloc_bytes: found %d values (%w)", len(v), err)
	}
	return v[0], err
}

// metric returns the values of all series of a metric.
func metric(ctx context.Context, name string) ([]float64, error) {
	_, body, err := adminGet(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	var values []float64
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(series, "{"); base != name {
			continue
		}
		if i := strings.LastIndexByte(lines.Text(), ' '); i > 0 {
			value = lines.Text()[i+1:]
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		values = append(values, v)
	}
	return values, nil
}

package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fetch returns the body of a page. Another status than 200 is an error.
func Fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %s", url, res.Status, bytes.TrimSpace(body))
	}
	return body, err
}

// readyWithin is how long an answer may take that a process is ready.
const readyWithin = 5 * time.Second

// Ready returns an error if the admin server at an address does not say that its process is ready.
func Ready(ctx context.Context, admin string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	_, err := Fetch(ctx, "http://"+admin+"/ready")
	return err
}

// Metric returns the values of all series of a metric of the admin server at an address.
func Metric(ctx context.Context, admin, name string) ([]float64, error) {
	body, err := Fetch(ctx, "http://"+admin+"/metrics")
	if err != nil {
		return nil, fmt.Errorf("read metric %s: %w", name, err)
	}
	var values []float64
	for line := range strings.Lines(string(body)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		value := strings.TrimSpace(rest[strings.LastIndexByte(rest, ' ')+1:])
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read metric %s: %w", name, err)
		}
		values = append(values, v)
	}
	return values, nil
}

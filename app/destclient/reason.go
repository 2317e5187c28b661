package destclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/output"
)

const (
	// reasonTimeout limits the search for the cause of a missing response.
	reasonTimeout = 2 * time.Second
	// maxReason limits the response about the cause in bytes, and maxReasonLines its displayed lines.
	maxReason      = 4 << 10
	maxReasonLines = 4
)

// NotReady asks an admin server whether its process is ready. It returns what the process waits
// for, in a line; "" if it is ready, or if there is no admin server.
func NotReady(ctx context.Context, admin string) string {
	code, text := getText(ctx, admin, "/ready")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if code != http.StatusInternalServerError || lines[0] != "not ready" {
		return ""
	}
	if lines = lines[1:]; len(lines) > maxReasonLines {
		lines = append(lines[:maxReasonLines], "…")
	}
	return output.Clean(strings.Join(lines, "; "))
}

// isAdmin reports whether an admin server listens on an address.
func isAdmin(ctx context.Context, addr string) bool {
	code, text := getText(ctx, addr, "/ping")
	return code == http.StatusOK && text == "pong\n"
}

// getText returns the response to a GET request; code 0 means none.
func getText(ctx context.Context, addr, path string) (code int, text string) {
	ctx, cancel := context.WithTimeout(ctx, reasonTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, http.NoBody)
	if err != nil {
		return 0, ""
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReason))
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(body)
}

package destclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// lookTime limits the search for the cause of a missing response.
	lookTime = 2 * time.Second
	// mostReason limits the response about the cause in bytes, and mostLines its displayed lines.
	mostReason = 4 << 10
	mostLines  = 4
)

// NotReady asks an admin server whether its process is ready. It returns what the process waits
// for, in a line; "" if it is ready, or if there is no admin server.
func NotReady(ctx context.Context, admin string) string {
	code, text := look(ctx, admin, "/ready")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if code != http.StatusInternalServerError || lines[0] != "not ready" {
		return ""
	}
	if lines = lines[1:]; len(lines) > mostLines {
		lines = append(lines[:mostLines], "…")
	}
	return oneLine(strings.Join(lines, "; "))
}

// isAdmin reports whether an admin server listens on an address.
func isAdmin(ctx context.Context, addr string) bool {
	code, text := look(ctx, addr, "/ping")
	return code == http.StatusOK && text == "pong\n"
}

// look returns the response to a GET request; code 0 means none.
func look(ctx context.Context, addr, path string) (code int, text string) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
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
	body, err := io.ReadAll(io.LimitReader(response.Body, mostReason))
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(body)
}

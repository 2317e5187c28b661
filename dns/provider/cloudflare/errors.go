package cloudflare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxFailureBody limits the body of a failed response in bytes.
	maxFailureBody = 64 << 10
	// maxMessages limits the shown messages of a response, and the causes of each.
	maxMessages = 3
	// maxMessageText limits each of them in bytes.
	maxMessageText = 300
)

// Codes of messages that say that nothing was changed, and why (spec/clouds.md §6.7).
var (
	// conflicts are for records that exist already, exclude each other, or are gone.
	conflicts = []int{81053, 81054, 81056, 81057, 81058, codeGone}
	// forbidden are for refused credentials, also with status 400.
	forbidden = []int{6003, 6100, 6103, 6111, 9103, 9106, 9107, 9109, 10000, 10001}
	throttles = []int{971, 10100, 10429}
)

const (
	codeGone  = 81044
	codeQuota = 81045
	// codeNoAuthorityChoice means that the plan of the zone allows no choice of the certificate authority. It
	// comes with status 403, regardless of the credentials.
	codeNoAuthorityChoice = 1459
	// codeDuplicate means that a custom hostname exists with another origin.
	codeDuplicate = 1406
)

// message is an entry of errors in a response. Chain has its causes.
type message struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Chain   []message `json:"error_chain"`
}

// apiError is a failed response of Cloudflare.
type apiError struct {
	*httpapi.StatusError
	codes []int
	// path is the path of the request.
	path string
}

// Unwrap returns the error of the status, which wraps the outcome.
func (e *apiError) Unwrap() error { return e.StatusError }

func (e *apiError) has(codes ...int) bool {
	return slices.ContainsFunc(e.codes, func(code int) bool { return slices.Contains(codes, code) })
}

func failure(resp *http.Response) error {
	// If the body can't be read, the status must be enough.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailureBody))
	resp.Body = io.NopCloser(bytes.NewReader(text))
	e := &apiError{StatusError: httpapi.NewStatusError("Cloudflare", resp)}
	if resp.Request != nil {
		e.path = resp.Request.URL.Path
	}
	var response envelope[json.RawMessage]
	if err := json.Unmarshal(text, &response); err == nil && len(response.Errors) > 0 {
		e.take(response.Errors)
	}
	e.classify()
	if throttled, ok := e.Outcome.(*provider.ThrottledError); ok && throttled.After == 0 {
		throttled.After = remainingTime(resp.Header)
	}
	return e
}

// unsuccessful returns the error for a response with status 200 and success false.
func unsuccessful(messages []message) error {
	e := &apiError{StatusError: &httpapi.StatusError{Server: "Cloudflare", Status: http.StatusOK}}
	e.take(messages)
	e.classify()
	return e
}

// take adds the messages of a response.
func (e *apiError) take(messages []message) {
	var said []string
	for _, m := range messages[:min(len(messages), maxMessages)] {
		text := m.short()
		e.codes = append(e.codes, m.Code)
		for _, cause := range m.Chain[:min(len(m.Chain), maxMessages)] {
			text += ": " + cause.short()
			e.codes = append(e.codes, cause.Code)
		}
		said = append(said, text)
	}
	e.Said = strings.Join(said, "; ")
}

// short returns the code and the beginning of the text, which the caller quotes.
func (m message) short() string {
	return fmt.Sprintf("%d %s", m.Code, sanitize.Shorten(m.Message, maxMessageText))
}

// classify sets the class of the error, and the advice for the user.
func (e *apiError) classify() {
	switch {
	case e.Status >= 500, e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests:
		// The status says the same.
	case e.has(throttles...):
		e.Outcome = &provider.ThrottledError{}
	case e.has(codeNoAuthorityChoice):
		e.Outcome = provider.ErrRejected
		e.Advice = "the plan of the zone has no choice of the certificate authority: give --cloudflare-custom-hostnames-certificate-authority=none"
	case e.has(codeDuplicate):
		e.Outcome = provider.ErrRejected
		e.Advice = "another name has this custom hostname: a custom hostname has one origin"
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, e.has(forbidden...):
		e.Outcome = provider.ErrCredentials
		e.Advice = e.permission()
	case e.has(conflicts...), e.Status == http.StatusNotFound, e.Status == http.StatusConflict:
		e.Outcome = provider.ErrStale
	case e.has(codeQuota):
		e.Outcome = provider.ErrRejected
		e.Advice = "the zone has as many records as its plan allows; each name needs one more for its ownership record"
	case e.Status/100 == 4:
		e.Outcome = provider.ErrRejected
	}
}

// permission returns the permission that the credentials may lack.
func (e *apiError) permission() string {
	switch {
	case strings.Contains(e.path, "/custom_hostnames"):
		return "check that CF_API_TOKEN has the permission SSL and Certificates:Edit for the zone"
	case strings.Contains(e.path, "/regional_hostnames"):
		return "check that CF_API_TOKEN has the permission DNS:Edit for the zone, and that the account has Regional Services"
	}
	return "check CF_API_TOKEN, and that it has the permissions Zone:Read and DNS:Edit for the zone"
}

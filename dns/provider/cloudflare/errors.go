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
	// failureSize is how much of the body of a failure is read, in bytes.
	failureSize = 64 << 10
	// saidMessages is how many messages of a failure are shown, and how many causes of each.
	saidMessages = 3
	// messageSize is how much of each is shown, in bytes.
	messageSize = 300
)

// The codes of messages that say that nothing was changed, and why (spec/clouds.md §6.7).
var (
	// conflicts are for records that are there already, or that exclude each other, or that are gone.
	conflicts = []int{81053, 81054, 81056, 81057, 81058, codeGone}
	// forbidden are for credentials that aren't accepted, also with status 400.
	forbidden = []int{6003, 6100, 6103, 6111, 9103, 9106, 9107, 9109, 10000, 10001}
	throttles = []int{971, 10100, 10429}
)

const (
	codeGone  = 81044
	codeQuota = 81045
	// codeAuthority is for a certificate authority that the plan of the zone has no choice of. It comes with status 403,
	// whatever the credentials are.
	codeAuthority = 1459
	// codeDuplicate is for a custom hostname that another origin has.
	codeDuplicate = 1406
)

// message is an entry of errors in an answer. Chain has its causes.
type message struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Chain   []message `json:"error_chain"`
}

// apiError is an answer of Cloudflare that isn't success.
type apiError struct {
	*httpapi.StatusError
	codes []int
	// path is that of the request.
	path string
}

// Unwrap returns the error of the status, which wraps the outcome.
func (e *apiError) Unwrap() error { return e.StatusError }

// has reports whether the answer has one of some codes.
func (e *apiError) has(codes ...int) bool {
	return slices.ContainsFunc(e.codes, func(code int) bool { return slices.Contains(codes, code) })
}

// failure returns the error for an answer.
func failure(resp *http.Response) error {
	// If the body can't be read, the status has to say enough.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, failureSize))
	resp.Body = io.NopCloser(bytes.NewReader(text))
	e := &apiError{StatusError: httpapi.NewStatusError("Cloudflare", resp)}
	if resp.Request != nil {
		e.path = resp.Request.URL.Path
	}
	var answer envelope[json.RawMessage]
	if err := json.Unmarshal(text, &answer); err == nil && len(answer.Errors) > 0 {
		e.take(answer.Errors)
	}
	e.classify()
	if throttled, ok := e.Outcome.(*provider.ThrottledError); ok && throttled.After == 0 {
		throttled.After = remainingTime(resp.Header)
	}
	return e
}

// unsuccessful returns the error for an answer with a status of success that isn't one.
func unsuccessful(messages []message) error {
	e := &apiError{StatusError: &httpapi.StatusError{Server: "Cloudflare", Status: http.StatusOK}}
	e.take(messages)
	e.classify()
	return e
}

// take takes over what an answer says.
func (e *apiError) take(messages []message) {
	var said []string
	for _, m := range messages[:min(len(messages), saidMessages)] {
		text := m.short()
		e.codes = append(e.codes, m.Code)
		for _, cause := range m.Chain[:min(len(m.Chain), saidMessages)] {
			text += ": " + cause.short()
			e.codes = append(e.codes, cause.Code)
		}
		said = append(said, text)
	}
	e.Said = strings.Join(said, "; ")
}

// short returns the code and the beginning of the text. It is quoted where it is shown.
func (m message) short() string {
	return fmt.Sprintf("%d %s", m.Code, sanitize.Shorten(m.Message, messageSize))
}

// classify sets what the answer means for the changes, and what the user can do.
func (e *apiError) classify() {
	switch {
	case e.Status >= 500, e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests:
		// The status says it all.
	case e.has(throttles...):
		e.Outcome = &provider.ThrottledError{}
	case e.has(codeAuthority):
		e.Outcome = provider.ErrRejected
		e.Advice = "the plan of the zone has no choice of the certificate authority: give --cloudflare-custom-hostnames-certificate-authority=none"
	case e.has(codeDuplicate):
		e.Outcome = provider.ErrRejected
		e.Advice = "another name has this custom hostname: a custom hostname has one origin"
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, e.has(forbidden...):
		e.Outcome = provider.ErrCredentials
		e.Advice = e.right()
	case e.has(conflicts...), e.Status == http.StatusNotFound, e.Status == http.StatusConflict:
		e.Outcome = provider.ErrStale
	case e.has(codeQuota):
		e.Outcome = provider.ErrRejected
		e.Advice = "the zone has as many records as its plan allows; each name needs one more for its ownership record"
	case e.Status/100 == 4:
		e.Outcome = provider.ErrRejected
	}
}

// right says which right the credentials may lack for a request.
func (e *apiError) right() string {
	switch {
	case strings.Contains(e.path, "/custom_hostnames"):
		return "check that CF_API_TOKEN has the permission SSL and Certificates:Edit for the zone"
	case strings.Contains(e.path, "/regional_hostnames"):
		return "check that CF_API_TOKEN has the permission DNS:Edit for the zone, and that the account has Regional Services"
	}
	return "check CF_API_TOKEN, and that it has the permissions Zone:Read and DNS:Edit for the zone"
}

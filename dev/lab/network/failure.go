package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Failure is what becomes of some requests to the API server. Without a Status and a Reset they are only late.
type Failure struct {
	// Share is how many of the requests fail, from 0 to 1, at random from the Seed.
	Share float64
	Seed  uint64
	// Resource is the plural name of the resource whose requests fail. Empty means those of all resources,
	// and those for none, such as /version.
	Resource string
	// WritesOnly spares requests that change nothing.
	WritesOnly bool
	// Status is what is answered: 400 to 599.
	Status int
	// RetryAfter is the header of that name in such an answer, in whole seconds. Zero means no header, but a second
	// for the status 429, with which the API server always says when to try again.
	RetryAfter time.Duration
	// Reset resets the connection instead of an answer. Other requests on it, such as watches, end too.
	Reset bool
	// Applied passes the request on first, so that the API server does what it says. What is answered replaces the
	// answer of the API server, unless this has none.
	Applied bool
	// Delay is how long it takes: before the request is passed on, or with Applied before it is answered.
	Delay time.Duration
}

func (f Failure) check() error {
	switch {
	case f.Share < 0 || f.Share > 1:
		return fmt.Errorf("the share %v is not from 0 to 1", f.Share)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("the status %d is not from 400 to 599", f.Status)
	case f.Status != 0 && f.Reset:
		return errors.New("it has a status and a reset: give one")
	case f.Status == 0 && !f.Reset && f.Delay <= 0:
		return errors.New("nothing fails: give a status, a reset or a delay")
	case f.RetryAfter%time.Second != 0 || f.RetryAfter < 0:
		return fmt.Errorf("retry after %v: give whole seconds", f.RetryAfter)
	}
	return nil
}

// fails reports whether it is more than a delay.
func (f Failure) fails() bool { return f.Status != 0 || f.Reset }

func (f Failure) matches(r request) bool {
	return (f.Resource == "" || f.Resource == r.Resource) && (!f.WritesOnly || r.changes)
}

// failing is a Failure with its dice.
type failing struct {
	Failure
	dice *dice
}

// draw returns the failures that hit a request, in the order in which they began. None follows one that is more than a delay.
func draw(all []*fault[failing], r request) []*fault[failing] {
	var hits []*fault[failing]
	for _, f := range all {
		if !f.what.matches(r) || !f.what.dice.hit() {
			continue
		}
		hits = append(hits, f)
		if f.what.fails() {
			break
		}
	}
	return hits
}

// answer writes the answer of a Failure as the API server would.
func (f Failure) answer(w http.ResponseWriter) error {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  fmt.Sprintf("the lab answers %d %s", f.Status, http.StatusText(f.Status)),
		Reason:   reasons[f.Status],
		Code:     int32(f.Status),
	}
	seconds := int(f.RetryAfter / time.Second)
	if f.Status == http.StatusTooManyRequests {
		seconds = max(seconds, 1)
	}
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	if err := json.NewEncoder(w).Encode(status); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// reasons are those of the answers that the API server gives often.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

package network

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Failure makes some requests to the API server fail: with a Status or a Reset.
type Failure struct {
	// Share is the share of the requests that fail, from 0 to 1, at random from the Seed.
	Share float64
	Seed  uint64
	// Resource is the plural name of the resource whose requests fail. Empty means all requests, including
	// those without a resource, such as /version.
	Resource string
	// Status is the status of the response: 400 to 599.
	Status int
	// RetryAfter is the value of the header Retry-After, in whole seconds. Zero means no header, except for
	// the status 429: like the API server, that always has one, of a second.
	RetryAfter time.Duration
	// Reset resets the connection instead of a response. Other requests on it, such as watches, end too.
	Reset bool
	// Applied forwards the request first, so that the API server carries it out. The failure then replaces
	// the response, if there is one.
	Applied bool
}

func (f Failure) matches(r request) bool { return f.Resource == "" || f.Resource == r.Resource }

// failing is a Failure with its dice.
type failing struct {
	Failure
	dice *dice
}

// draw returns the first failure that applies to a request, in the order in which they began, or nil.
func draw(all []*fault[failing], r request) *Failure {
	for _, f := range all {
		if f.what.matches(r) && f.what.dice.hit() {
			return &f.what.Failure
		}
	}
	return nil
}

// respond writes the response of a Failure in the form of the API server's.
func (f Failure) respond(w http.ResponseWriter) error {
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

// reasons are the reasons of frequent responses of the API server.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

package reconcile

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/panics"
)

// IsConflict reports whether a write failed because another writer has changed or created the object. The
// caller must read the object before the next write.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// IsMissing reports whether a request failed because the API server doesn't have the object. A 404
// that was not made for the object, such as one of a proxy or of an API server that doesn't serve
// the kind yet, doesn't count.
func IsMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IsNamespaceTerminating reports whether an object could not be created because its namespace is being
// deleted, which is no failure (spec/endpoints.md §5.12).
func IsNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// IsRefused reports whether a sync failed because of its objects, as far as the error shows, and so deserves
// an Event. Connection failures and conflicts do not.
func IsRefused(err error) bool {
	return err != nil && !IsConflict(err) && scopeOf(err) != environment && !isTimeout(err)
}

// scope is the reach of a failure.
type scope int

const (
	// object is a failure of the requested object only: the API server works.
	object scope = iota
	// ambiguous is a failure that looks the same whether a policy or webhook rejects one object or many, or the
	// API server fails for all. Only the syncs of other Services can tell.
	ambiguous
	// environment is a failure of the API server or the connection to it.
	environment
)

// scopeOf returns the scope of a failure, as far as the error shows.
func scopeOf(err error) scope {
	var status apierrors.APIStatus
	switch {
	case IsNamespaceTerminating(err), errors.As(err, new(*refusal)), errors.As(err, new(*panics.Error)):
		return object
	case !errors.As(err, &status) && isTimeout(err):
		return ambiguous
	case !errors.As(err, &status):
		return environment
	}
	switch code := status.Status().Code; {
	case code == http.StatusForbidden, code == http.StatusInternalServerError, isDenial(status.Status()):
		return ambiguous
	case code == http.StatusUnauthorized, code == http.StatusTooManyRequests, code >= 500:
		return environment
	case code == http.StatusNotFound && !IsMissing(err):
		return environment
	default:
		return object
	}
}

// isDenial reports whether a response may be that of an admission webhook or policy: by default a webhook
// denies with 400, and a ValidatingAdmissionPolicy with 422. A 422 of the validation of the object names its
// fields.
func isDenial(status metav1.Status) bool {
	switch status.Code {
	case http.StatusBadRequest:
		return true
	case http.StatusUnprocessableEntity:
		return status.Details == nil || !slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
	default:
		return false
	}
}

// MayHaveSucceeded reports whether the API server may have carried out a failed write. If so, the object must
// be read before the next plan.
func MayHaveSucceeded(err error) bool {
	var status apierrors.APIStatus
	var connection *net.OpError
	switch {
	case err == nil:
		return false
	case errors.As(err, &status):
		code := status.Status().Code
		return code >= 500 || code == http.StatusRequestTimeout
	default:
		return !errors.As(err, &connection) || connection.Op != "dial"
	}
}

// isTimeout reports whether the response did not arrive in time.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// retryAfter returns the delay (Retry-After) that an overloaded API server asks for.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return min(time.Duration(seconds)*time.Second, retryAfterLimit)
}

// refusal is a failure caused by the objects of a Service.
type refusal struct{ error }

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.error }

// Refuse marks the error of a sync as caused by the objects of the Service, so that the breakers don't count
// it as a connection failure.
func Refuse(err error) error {
	if err == nil {
		return nil
	}
	return &refusal{err}
}

// triggerTime is the annotation with the time of the change that led to a write (spec/endpoints.md §2).
const triggerTime = corev1.EndpointsLastChangeTriggerTime

// Cause returns the time of the change that led to a write of an object, from its annotation
// endpoints.kubernetes.io/last-change-trigger-time; zero without the annotation.
func Cause(object metav1.Object) time.Time {
	t, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[triggerTime])
	if err != nil {
		return time.Time{}
	}
	return t
}

package crd

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errRead wraps the error of reading an object right before an update.
var errRead = errors.New("read it before the update")

// refused reports whether the API server refuses one object: by an admission policy or a quota, or
// because the object is invalid or too large. Other objects may be accepted.
func refused(err error) bool {
	switch {
	case errors.Is(err, errOtherRecord):
		return true
	case errors.Is(err, errRead): // admission doesn't see reads
		return false
	case apierrors.IsForbidden(err):
		return !forbidsAll(err)
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// forbidsAll reports whether the reason of a Forbidden concerns all objects: a missing right, a
// namespace that is being deleted, or a proxy before the API server. Status has no field for this, so
// its details decide as far as possible:
//
//   - Policies and the deletion of the namespace have causes. An admission webhook has no details.
//   - Authorization comes before the object is read, so the details of a create have no name. Quotas
//     and policies name the object.
//   - An update names the object in both cases. Only there the message has to decide.
func forbidsAll(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return true
	}
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return false
	}
	status := api.Status()
	details := status.Details
	switch {
	case details == nil || len(details.Causes) > 0:
		return false
	case details.Name == "":
		return details.Kind != ""
	default:
		return strings.Contains(status.Message, " cannot update resource ")
	}
}

package reconcile

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsConflict reports whether a write failed because somebody else has written or created
// the object: read it again, then write again.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// IsNamespaceTerminating reports whether an object could not be created because its
// namespace is being deleted, which is no failure (spec/endpoints.md §5.12).
func IsNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// triggerTime is the annotation that says which change led to a write
// (spec/endpoints.md §2).
const triggerTime = corev1.EndpointsLastChangeTriggerTime

// Cause returns the time of the change that led to a write of an object, as its
// annotation endpoints.kubernetes.io/last-change-trigger-time says; zero when it doesn't.
func Cause(object metav1.Object) time.Time {
	t, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[triggerTime])
	if err != nil {
		return time.Time{}
	}
	return t
}

// IsRefused reports whether a sync failed because of its objects, so that an Event on them
// should say so: not for lack of a connection, and not because of a conflict.
func IsRefused(err error) bool { return err != nil && !unreachable(err) && !IsConflict(err) }

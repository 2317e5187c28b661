package main

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What an API server refuses is compared. What it can't do is no difference.
func TestWhatFails(t *testing.T) {
	pods := corev1.Resource("pods")
	for _, test := range []struct {
		err            error
		refuses, fails bool
	}{
		{nil, false, false},
		{errSkipped, false, false},
		{fmt.Errorf("patch: %w", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "a", nil)), true, false},
		{apierrors.NewForbidden(pods, "a", nil), true, false},
		{apierrors.NewConflict(pods, "a", nil), true, false},
		{apierrors.NewInternalError(errors.New("etcdserver: request timed out")), true, true},
		{apierrors.NewTimeoutError("request did not complete within requested timeout", 1), true, true},
		{apierrors.NewTooManyRequests("busy", 1), true, true},
		{errors.New("http2: client connection lost"), true, true},
	} {
		if got := refuses(test.err); got != test.refuses {
			t.Errorf("%v: refuses is %t, want %t", test.err, got, test.refuses)
		}
		if got := fails(test.err); got != test.fails {
			t.Errorf("%v: fails is %t, want %t", test.err, got, test.fails)
		}
	}
}

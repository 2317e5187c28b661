package kube

import (
	"errors"
	"io"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

var pods = schema.GroupResource{Resource: "pods"}

func TestStateMachine(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newState(func() time.Time { return now })
	changes, heard := 0, time.Time{}
	s.lastContact = func() time.Time { return heard }
	errLost := errors.New("http2: client connection lost")
	s.changed = func() { changes++ }
	var watch int
	steps := []struct {
		name    string
		after   time.Duration
		do      func()
		want    State
		reason  Reason
		stale   time.Duration
		changes int
	}{
		{"new", 0, func() {}, Connecting, "", 0, 0},
		{"no answer", time.Second, func() { s.failed(errors.New("dial tcp")) }, Waiting, Unreachable, time.Second, 1},
		{"no answer again", time.Second, func() { s.failed(errors.New("dial tcp again")) }, Waiting, Unreachable, 2 * time.Second, 1},
		{"another reason", time.Second, func() { s.failed(apierrors.NewForbidden(pods, "", nil)) }, Waiting, Forbidden, 3 * time.Second, 2},
		{"stream opened", time.Second, func() { watch = s.startFilling() }, Waiting, Forbidden, 4 * time.Second, 2},
		{"filled", time.Second, s.replaced, Synced, "", 0, 3},
		{"idle", 10 * time.Minute, func() {}, Synced, "", 0, 3},
		{"bookmark", 0, func() { s.bookmarked(); s.received() }, Synced, "", 0, 3},
		{"idle after bookmark", idleLimit, func() {}, Synced, "", 0, 3},
		{"silent for too long", time.Second, func() {}, Synced, "", idleLimit + time.Second, 3},
		{"heard of again", 0, s.received, Synced, "", 0, 3},
		{"ended", time.Second, func() { s.ended(watch, io.EOF) }, Synced, "", 0, 3},
		{"old end", time.Second, func() { s.ended(watch, io.EOF) }, Synced, "", time.Second, 3},
		{"lost", time.Second, func() { s.failed(errors.New("refused")) }, Waiting, Unreachable, 2 * time.Second, 4},
		{"resumed", time.Minute, func() { watch = s.startFollowing() }, Synced, "", 0, 5},
		{"outdated", time.Second, func() { s.ended(watch, io.EOF); s.failed(apierrors.NewResourceExpired("old")) }, Synced, "", 0, 5},
		{"refilling", time.Second, func() { watch = s.startFilling() }, Synced, "", time.Second, 5},
		{"refilling broken", time.Second, func() { s.ended(watch, io.EOF) }, Synced, "", 2 * time.Second, 5},
		{"listed", time.Second, s.replaced, Synced, "", 0, 5},
		{"followed late", time.Second, func() {}, Synced, "", time.Second, 5},
		{"followed", time.Second, func() { watch = s.startFollowing() }, Synced, "", 0, 5},
		{"heard of", time.Second, s.received, Synced, "", 0, 5},
		{"connection lost", 15 * time.Second, func() { s.ended(watch, errLost) }, Synced, "", 15 * time.Second, 5},
		{"followed again", time.Second, func() { watch = s.startFollowing() }, Synced, "", 0, 5},
		{"lost, but heard of for another table", 15 * time.Second, func() { heard = now.Add(-9 * time.Second); s.ended(watch, errLost) }, Synced, "", 9 * time.Second, 5},
	}
	for _, step := range steps {
		now = now.Add(step.after)
		step.do()
		got := s.status()
		if got.State != step.want || got.Reason != step.reason || got.Stale != step.stale || changes != step.changes {
			t.Errorf("%s: %s %q stale for %v, %d changes; want %s %q %v, %d",
				step.name, got.State, got.Reason, got.Stale, changes, step.want, step.reason, step.stale, step.changes)
		}
	}
	if n := s.failureCount(); n != 4 {
		t.Errorf("%d failures, want 4", n)
	}
}

func TestSettled(t *testing.T) {
	for _, c := range []struct {
		name      string
		status    TableStatus
		want      bool
		confirmed bool
	}{
		{"new", TableStatus{State: Connecting, Required: true}, false, false},
		{"new optional", TableStatus{State: Connecting}, false, false},
		{"filled", TableStatus{State: Synced, Required: true, Filled: true}, true, false},
		{"filled and lost", TableStatus{State: Waiting, Reason: Unreachable, Required: true, Filled: true}, true, false},
		{"missing", TableStatus{State: Waiting, Reason: NotFound}, true, false},
		{"refused once", TableStatus{State: Waiting, Reason: Forbidden}, false, false},
		{"refused again", TableStatus{State: Waiting, Reason: Forbidden}, true, true},
		{"discovery refused once", TableStatus{State: Waiting, Reason: DiscoveryForbidden}, false, false},
		{"discovery refused again", TableStatus{State: Waiting, Reason: DiscoveryForbidden}, true, true},
		{"served in another version", TableStatus{State: Waiting, Reason: OtherVersion}, true, false},
		{"required but refused", TableStatus{State: Waiting, Reason: Forbidden, Required: true}, false, true},
		{"required but missing", TableStatus{State: Waiting, Reason: NotFound, Required: true}, false, false},
		{"optional but out of reach", TableStatus{State: Waiting, Reason: Unreachable}, false, false},
		{"optional but unauthorized", TableStatus{State: Waiting, Reason: Unauthorized}, false, false},
	} {
		if got := c.status.settled(c.confirmed); got != c.want {
			t.Errorf("%s: settled is %v", c.name, got)
		}
	}
}

func TestErrors(t *testing.T) {
	tooLarge := apierrors.NewTimeoutError("too large", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for _, c := range []struct {
		err               error
		reason            Reason
		lasting, outdated bool
	}{
		{errors.New("no route to host"), Unreachable, false, false},
		{apierrors.NewNotFound(pods, ""), NotFound, true, false},
		{apierrors.NewForbidden(pods, "", nil), Forbidden, false, false},
		{apierrors.NewUnauthorized(""), Unauthorized, false, false},
		{apierrors.NewTooManyRequests("", 1), ServerError, false, false},
		{apierrors.NewServiceUnavailable(""), ServerError, false, false},
		{apierrors.NewInternalError(errors.New("")), ServerError, false, false},
		{apierrors.NewBadRequest(""), ServerError, true, false},
		{apierrors.NewResourceExpired(""), ServerError, true, true},
		{tooLarge, ServerError, false, true},
	} {
		if got := reasonOf(c.err); got != c.reason {
			t.Errorf("reason of %v is %q, want %q", c.err, got, c.reason)
		}
		if got := lasting(c.err); got != c.lasting {
			t.Errorf("lasting(%v) = %v", c.err, got)
		}
		if got := outdated(c.err); got != c.outdated {
			t.Errorf("outdated(%v) = %v", c.err, got)
		}
	}
}

func TestResumableLooksRefused(t *testing.T) {
	// That is how the reflector decides whether to resume the watch.
	if err := (resumable{errors.New("no route to host")}); !utilnet.IsConnectionRefused(err) || err.Error() != "no route to host" {
		t.Errorf("%v is not taken for a refused connection", err)
	}
}

func TestRetryDelays(t *testing.T) {
	var r retry
	for i, limit := range []time.Duration{100, 200, 400, 800, 1600, 2000, 2000} {
		limit *= time.Millisecond
		if d := r.next(retryLimit); d > limit || d < limit*3/4 {
			t.Errorf("delay %d is %v, want %v less a quarter at most", i, d, limit)
		}
	}
	if d := r.next(retryLimitMissing); d > retryLimitMissing || d <= retryLimit {
		t.Errorf("delay for a missing kind is %v", d)
	}
}

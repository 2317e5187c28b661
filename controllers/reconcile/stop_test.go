package reconcile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/writeclient"
)

// When the process stops, a sync with many slow writes ends in time for the Lease to be released: the write under
// way is finished, and no further one begins after a while.
func TestStopDuringManyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const write = 350 * time.Millisecond
		made, stopped := 0, time.Time{}
		l := New(Options{Name: "test", Workers: 1, RetryFirst: 1, RetryLimit: 1, Sync: func(ctx context.Context, _ Key) error {
			for range 100 {
				_, err := writeclient.Write(ctx, func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
					select {
					case <-time.After(write):
						made++
						return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "1"}}, nil
					case <-ctx.Done():
						t.Error("a write under way was cancelled")
						return nil, ctx.Err()
					}
				})
				if err != nil {
					return err
				}
			}
			return nil
		}})
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() {
			stopped = time.Now()
			stop(errors.New("a signal"))
		})
		l.Run(ctx, func() []Key { return []Key{web} })
		if took := time.Since(stopped); took > writeclient.FinishLimit+write || took < writeclient.FinishLimit {
			t.Errorf("after the stop the loop ran for %v, want %v and the write under way", took, writeclient.FinishLimit)
		}
		if want := int((time.Second+writeclient.FinishLimit)/write) + 1; made != want {
			t.Errorf("%d writes were made, want %d", made, want)
		}
	})
}

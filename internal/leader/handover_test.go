package leader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The next leader gets the text of the former one, if that one has released the Lease and there was no other
// holder in between (day2 B9).
func TestHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := fake.NewClientset().CoordinationV1()
		lead := func(identity, leaves string) (found string, stop func()) {
			t.Helper()
			e, err := New(Config{Client: leases, Namespace: "ns", Name: "a", Identity: identity})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			began, done := make(chan string, 1), make(chan struct{})
			go func() {
				defer close(done)
				_ = e.Run(ctx, func(ctx context.Context) error {
					time.Sleep(5 * time.Second) // some renewals
					began <- e.HandedOver()
					<-ctx.Done()
					if leaves != "" {
						e.HandOver(leaves)
					}
					return nil
				})
			}()
			return <-began, func() {
				cancel()
				<-done
			}
		}
		for _, step := range []struct{ leaves, want string }{
			{"first", ""}, {"second", "first"}, {"", "second"}, {strings.Repeat("x", maxHandedOver+1), ""}, {"last", ""},
		} {
			got, stop := lead("process-"+step.leaves[:min(8, len(step.leaves))], step.leaves)
			if got != step.want {
				t.Errorf("the leader that passes on %.10q got %q, want %q", step.leaves, got, step.want)
			}
			stop()
		}

		// A holder that doesn't know the annotation keeps it.
		lease, err := leases.Leases("ns").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || !strings.HasSuffix(lease.Annotations[HandedOverAnnotation], " last") {
			t.Fatalf("%v, annotations %v", err, lease.Annotations)
		}
		*lease.Spec.LeaseTransitions++
		if _, err := leases.Leases("ns").Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		got, stop := lead("after others", "")
		if got != "" {
			t.Errorf("found %q, which is that of an earlier leader", got)
		}
		stop()
	})
}

// TestHandedOverOnce shows that a leader which loses its term, because the API server is away, and continues
// with the same Lease, doesn't get the former leader's text again: its tables may be out of date.
func TestHandedOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		client := fake.NewClientset()
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, errors.New("the API server is away")
		})
		config := Config{Client: client.CoordinationV1(), Namespace: "ns", Name: "a"}
		lead := func(identity string, work func(context.Context, *Elector)) (stop func()) {
			t.Helper()
			config.Identity = identity
			e, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = e.Run(ctx, func(ctx context.Context) error {
					work(ctx, e)
					<-ctx.Done()
					return nil
				})
			}()
			return func() {
				cancel()
				<-done
			}
		}
		stop := lead("first", func(ctx context.Context, e *Elector) {
			<-ctx.Done()
			e.HandOver("versions")
		})
		time.Sleep(10 * time.Second)
		stop()
		var found []string
		stop = lead("second", func(_ context.Context, e *Elector) { found = append(found, e.HandedOver()) })
		time.Sleep(time.Minute)
		away.Store(true)
		time.Sleep(time.Minute)
		away.Store(false)
		time.Sleep(time.Minute)
		stop()
		if !slices.Equal(found, []string{"versions", ""}) {
			t.Errorf("the terms found %q, want the text in the first one only", found)
		}
	})
}

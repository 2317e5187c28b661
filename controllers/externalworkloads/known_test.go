package externalworkloads

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// A new leader waits until it has read all ExternalWorkloads. It deleted the slices of those that it couldn't
// read (day2 B3).
func TestWaitsUntilWorkloadsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known atomic.Bool
		c := New(Options{
			Workloads: membership.New(func(w *Workload) (types.NamespacedName, objectmeta.Labels) {
				return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, w.Labels
			}),
			Known: known.Load, Slices: watched.EndpointSlices(ManagedBy).Table(),
			Options: reconcile.Options{Workers: 1, Logger: slog.New(slog.DiscardHandler)},
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := make(chan bool, 1)
		go func() { began <- c.awaitKnown(ctx) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case <-began:
			t.Fatal("the controller doesn't wait for the workloads")
		default:
		}
		known.Store(true)
		if !<-began {
			t.Error("the controller doesn't start")
		}
		known.Store(false)
		cancel()
		if c.awaitKnown(ctx) {
			t.Error("the controller starts after the end of its term")
		}
	})
}

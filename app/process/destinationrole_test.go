package process

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/catalog"
)

// No response is sent until the linked clusters are known, or until linksWait is over.
func TestMarkSyncedWaitsForLinks(t *testing.T) {
	for name, tc := range map[string]struct {
		links, want time.Duration
	}{
		"soon":  {time.Second, time.Second},
		"never": {time.Hour, linksWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				known := catalog.New(catalog.Options{})
				settled, links := make(chan struct{}), make(chan struct{})
				close(settled)
				timer := time.AfterFunc(tc.links, func() { close(links) })
				defer timer.Stop()
				var running sync.WaitGroup
				running.Go(func() { _ = known.Run(ctx) })
				running.Go(func() { _ = markSynced(ctx, known, settled, links) })
				begun := time.Now()
				<-known.Synced()
				if got := time.Since(begun); got != tc.want {
					t.Errorf("synced after %v, want %v", got, tc.want)
				}
				cancel()
				running.Wait()
			})
		})
	}
}

package destination

import (
	"context"
	"flag"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/longtest"
)

// progressEvery is the number of sequences between two progress messages.
const progressEvery = 1000

// sequences are the random sequences of a test, as set by its flags.
type sequences struct {
	test, flags string
	n           *int
	seed        *uint64
}

// newSequences defines the flags of a test, and returns its sequences.
func newSequences(test, flags string, n int) sequences {
	return sequences{
		test: test, flags: flags,
		n:    flag.Int(flags+".sequences", n, "random event sequences that "+test+" plays"),
		seed: flag.Uint64(flags+".seed", 1, "seed of the first sequence that "+test+" plays"),
	}
}

// play plays the sequences until one fails.
func (s sequences) play(t *testing.T, play func(t *testing.T, seed uint64)) {
	for i := range uint64(longtest.Rounds(*s.n)) {
		seed := *s.seed + i
		synctest.Test(t, func(t *testing.T) {
			// A failing test ends here, and not after the loop.
			defer func() {
				if t.Failed() {
					t.Logf("replay with: go test ./destination -run %s -%s.sequences=1 -%s.seed=%d", s.test, s.flags, s.flags, seed)
				}
			}()
			play(t, seed)
		})
		if (i+1)%progressEvery == 0 {
			t.Logf("%d sequences, the last with seed %d", i+1, seed)
		}
	}
}

// pausable is a client that can stop reading for a while.
type pausable struct {
	lock   sync.Mutex
	paused chan struct{} // not nil while the client doesn't read; closed when it continues
}

func (r *pausable) pause() {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.paused == nil {
		r.paused = make(chan struct{})
	}
}

func (r *pausable) resume() {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.paused != nil {
		close(r.paused)
		r.paused = nil
	}
}

func (r *pausable) isPaused() bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.paused != nil
}

// wait returns when the client isn't paused.
func (r *pausable) wait() {
	r.lock.Lock()
	paused := r.paused
	r.lock.Unlock()
	if paused != nil {
		<-paused
	}
}

// newCatalog returns a new catalog with these objects, which doesn't change afterwards.
func newCatalog(o catalog.Options, objects map[catalog.ID]catalog.Object) *catalog.Catalog {
	c := catalog.New(o)
	for _, v := range objects {
		c.Put(v)
	}
	c.MarkSynced()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	<-c.Synced()
	cancel()
	wg.Wait()
	return c
}

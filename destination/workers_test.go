package destination

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/internal/panics"
)

// A client that doesn't read keeps its worker, and other jobs don't wait for it. Idle workers are reused, and
// end with the last user; otherwise the synctest bubble would not end.
func TestWorkersDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ws workers
		ws.enter()
		reads := make(chan struct{})
		const stalled = 2 * maxIdleWorkers
		for range stalled {
			ws.enter()
			go func() {
				defer ws.leave()
				ws.do(func() { <-reads })
			}()
		}
		synctest.Wait()
		ran := 0
		for range 3 {
			ws.do(func() { ran++ })
		}
		if ran != 3 || len(ws.idle) != 1 {
			t.Errorf("%d of 3 jobs ran beside %d stalled ones, and %d workers are idle, want 1", ran, stalled, len(ws.idle))
		}
		close(reads)
		synctest.Wait()
		if n := len(ws.idle); n != maxIdleWorkers {
			t.Errorf("%d workers are idle, want %d", n, maxIdleWorkers)
		}
		ws.leave()
		if n := len(ws.idle); n != 0 {
			t.Errorf("%d workers are idle without calls", n)
		}
	})
}

// A panic of a job continues in the caller of do, with its location in the code, and the worker stays.
func TestWorkerCarriesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ws workers
		ws.enter()
		defer ws.leave()
		defer func() {
			p, ok := recover().(*panics.Carried)
			if !ok || p.Value != "on purpose" || len(p.Stack) == 0 || p.At == "unknown" {
				t.Errorf("the panic is %+v", p)
			}
			if len(ws.idle) != 1 {
				t.Errorf("%d workers are idle, want 1", len(ws.idle))
			}
		}()
		ws.do(func() { panic("on purpose") })
	})
}

// A busy stream sends on its own stack; a stream with rare updates doesn't.
func TestBusyStreams(t *testing.T) {
	for name, tc := range map[string]struct {
		apart time.Duration
		want  bool
	}{
		"each second":        {busyInterval, true},
		"each two seconds":   {2 * busyInterval, false},
		"ten times a second": {busyInterval / 10, true},
	} {
		c, now := &call{}, time.Now()
		for i := range busyTimes + 1 {
			now = now.Add(tc.apart)
			if got, want := c.isBusy(now), tc.want && i == busyTimes; got != want {
				t.Errorf("%s: update %d: %v, want %v", name, i+1, got, want)
			}
		}
	}
}

// Streams wait for others that are being opened, at most until the end of their call.
func TestFewStreamsAreOpenedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), zonedObjects()...)
		for range cap(f.server.opening) {
			f.server.opening <- struct{}{}
		}
		stays, leaves := f.get(getPath, ""), f.get(getPath, "")
		f.settle()
		if got := stays.ended(); got != "open" || len(stays.newMessages()) != 0 {
			t.Errorf("a waiting stream: %s, or it has a response", got)
		}
		leaves.cancel()
		<-leaves.done
		for range cap(f.server.opening) {
			<-f.server.opening
		}
		f.settle()
		if len(stays.newMessages()) == 0 {
			t.Error("the stream has no response")
		}
		if n := len(f.server.opening); n != 0 {
			t.Errorf("%d streams are being opened in the end", n)
		}
	})
}

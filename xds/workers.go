package xds

import (
	"slices"
	"sync"
)

// workers let a few goroutines handle the requests and send the responses of all streams. With a
// goroutine for each stream, its stack (8 kB) would be most of the memory of an idle stream.
type workers struct {
	slots int // the limit of goroutines that work; those that may wait for a client don't count

	mu   sync.Mutex
	busy int // slots in use
	// lanes have the streams that wait. Workers take turns between them, so that a change for few
	// streams doesn't wait for one for many.
	lanes [lanes][]*stream
	turn  lane
}

// lane is the reason why a stream waits for a worker.
type lane int

const (
	laneFew     lane = iota // a change that concerns few streams
	laneMany                // a change that concerns many
	laneRequest             // a request
	lanes                   // the number of lanes

	noLane = lanes // no work is pending
)

// maxFew is how many streams a change in laneFew may concern.
const maxFew = 100

// laneOf returns the lane of a change.
func laneOf(streams int) lane {
	if streams > maxFew {
		return laneMany
	}
	return laneFew
}

// worker is a goroutine that has a slot unless it is detached.
type worker struct {
	all      *workers
	detached bool
}

func (ws *workers) add(s *stream, why lane) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.lanes[why] = append(ws.lanes[why], s)
	ws.start()
}

// start starts a worker if one is needed and there is a slot. The caller holds the lock.
func (ws *workers) start() {
	if ws.busy < ws.slots && slices.ContainsFunc(ws.lanes[:], func(l []*stream) bool { return len(l) > 0 }) {
		ws.busy++
		go (&worker{all: ws}).run()
	}
}

// take returns the first stream of the next lane that is not empty; nil if all are. The caller
// holds the lock.
func (ws *workers) take() *stream {
	for range lanes {
		ws.turn = (ws.turn + 1) % lanes
		if l := ws.lanes[ws.turn]; len(l) > 0 {
			s := l[0]
			l[0] = nil
			ws.lanes[ws.turn] = l[1:]
			return s
		}
	}
	return nil
}

func (w *worker) run() {
	for s := w.next(); s != nil; s = w.next() {
		s.work(w)
	}
}

// next returns the next stream; nil if none waits, or if there is no slot for the worker.
func (w *worker) next() *stream {
	ws := w.all
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.detached {
		ws.busy++
		w.detached = false
	}
	if ws.busy <= ws.slots {
		if s := ws.take(); s != nil {
			return s
		}
	}
	ws.busy--
	return nil
}

// detach gives the slot to another worker, because this one may block.
func (w *worker) detach() {
	if w.detached {
		return
	}
	ws := w.all
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.detached = true
	ws.busy--
	ws.start()
}

package xds

import "sync"

// workers let a few goroutines do the work of all streams: handle requests and send. A stream that has a goroutine for
// that would keep its stack, 8 kB, which is more than all else that an idle stream costs.
type workers struct {
	// slots is how many goroutines work, beside those that may wait for a client.
	slots int

	mu    sync.Mutex
	queue []*stream
	busy  int // slots in use
}

// worker is one of the goroutines. It has a slot unless it is detached.
type worker struct {
	all      *workers
	detached bool
}

// add lets a worker do the work of a stream.
func (ws *workers) add(s *stream) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.queue = append(ws.queue, s)
	ws.start()
}

// start starts a worker if one is needed and there is a slot. The caller holds the lock.
func (ws *workers) start() {
	if ws.busy < ws.slots && len(ws.queue) > 0 {
		ws.busy++
		go (&worker{all: ws}).run()
	}
}

func (w *worker) run() {
	for s := w.next(); s != nil; s = w.next() {
		s.work(w)
	}
}

// next returns the stream that has waited longest; nil if none waits, or if there is no slot for the worker.
func (w *worker) next() *stream {
	ws := w.all
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.detached {
		ws.busy++
		w.detached = false
	}
	if len(ws.queue) == 0 || ws.busy > ws.slots {
		ws.busy--
		return nil
	}
	s := ws.queue[0]
	ws.queue[0] = nil
	ws.queue = ws.queue[1:]
	return s
}

// detach gives the slot to another worker, because this one may have to wait for a client.
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

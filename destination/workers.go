package destination

import (
	"sync"

	"github.com/signpostd/signpost/internal/panics"
)

// maxIdleWorkers bounds the number of idle workers while calls are open. More workers may be busy while
// clients stall.
const maxIdleWorkers = 16

// workers run the jobs of calls on goroutines whose stacks have already grown (decision 0071). The stack of a
// goroutine grows by doubling and hardly ever shrinks. So a handler that encodes and sends by itself would
// keep 8 to 16 kB while its stream is open. A handler that only waits keeps 4 kB.
type workers struct {
	mu    sync.Mutex
	users int       // open calls, and calls that wait for their request
	idle  []*worker // the last one was used last; empty without users
}

// worker runs one job after another. Each channel has a buffer of one, so that neither side waits for the
// other.
type worker struct {
	jobs chan func()
	// done has the panic of the job, or nil.
	done chan *panics.Carried
}

// do makes a worker run the job, and returns when the job has ended. If the job panics, so does do.
func (ws *workers) do(job func()) {
	w := ws.begin(job)
	ws.end(w, <-w.done)
}

// begin gives the job to an idle or a new worker, so that a job never waits for another one. The caller
// receives from done once, and then calls end.
func (ws *workers) begin(job func()) *worker {
	w := ws.take()
	if w == nil {
		w = &worker{jobs: make(chan func(), 1), done: make(chan *panics.Carried, 1)}
		go w.run()
	}
	w.jobs <- job
	return w
}

func (ws *workers) take() *worker {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	n := len(ws.idle)
	if n == 0 {
		return nil
	}
	w := ws.idle[n-1]
	ws.idle[n-1] = nil
	ws.idle = ws.idle[:n-1]
	return w
}

// end returns a worker after its job to the idle ones. It panics if the job did.
func (ws *workers) end(w *worker, panicked *panics.Carried) {
	if !ws.keep(w) {
		close(w.jobs)
	}
	if panicked != nil {
		panic(panicked)
	}
}

func (ws *workers) keep(w *worker) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.idle) == maxIdleWorkers || ws.users == 0 {
		return false
	}
	ws.idle = append(ws.idle, w)
	return true
}

// enter counts a user. Each enter is followed by one leave.
func (ws *workers) enter() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.users++
}

// leave ends the idle workers after the last user.
func (ws *workers) leave() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.users--
	if ws.users > 0 {
		return
	}
	for _, w := range ws.idle {
		close(w.jobs)
	}
	ws.idle = nil
}

func (w *worker) run() {
	for job := range w.jobs {
		w.done <- attempt(job)
	}
}

func attempt(job func()) (panicked *panics.Carried) {
	defer func() {
		if v := recover(); v != nil {
			panicked = panics.Carry(v)
		}
	}()
	job()
	return nil
}

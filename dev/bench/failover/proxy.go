package failover

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// apiProxy stands between one replica and the API server. It knows what the replica
// writes and when, without asking the replica, and can cut off a write at a known point.
type apiProxy struct {
	*measure.Gateway
	rival *apiProxy // of the other replica

	mu         sync.Mutex
	leaseReads int         // since the replica was started
	elected    time.Time   // last successful write of the lease
	begun      int         // writes of objects
	underWay   int         // of those, without an answer
	succeeded  []time.Time // writes of objects, when they were answered
	outOfTurn  int         // writes of objects while the rival had the lease
	trap       *trap
}

// trap springs at one of the next writes of an object: before it is passed on,
// or once it is answered, before the answer is passed back.
type trap struct {
	writes   int
	answered bool
	spring   func()
}

func startProxy(k *measure.Cluster) (*apiProxy, error) {
	g, err := measure.NewGateway(k)
	if err != nil {
		return nil, err
	}
	p := &apiProxy{Gateway: g}
	return p, g.Open("127.0.0.1:0", p)
}

// RoundTrip implements http.RoundTripper.
func (p *apiProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	reads, lease := r.Method == http.MethodGet, strings.Contains(r.URL.Path, "/leases")
	switch {
	case reads && lease:
		return p.readLease(r)
	case lease:
		return p.writeLease(r)
	case !reads && strings.Contains(r.URL.Path, "/endpoint"):
		return p.write(r)
	default:
		return p.Next.RoundTrip(r)
	}
}

func (p *apiProxy) readLease(r *http.Request) (*http.Response, error) {
	res, err := p.Next.RoundTrip(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaseReads++
	return res, err
}

func (p *apiProxy) writeLease(r *http.Request) (*http.Response, error) {
	res, err := p.Next.RoundTrip(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if Succeeded(res, err) {
		p.elected = time.Now()
	}
	return res, err
}

// Succeeded reports whether a request was answered with success.
func Succeeded(res *http.Response, err error) bool { return err == nil && res.StatusCode < 300 }

// write passes on the write of an object.
func (p *apiProxy) write(r *http.Request) (*http.Response, error) {
	t := p.begin(p.rival.lastElected())
	if t != nil && !t.answered {
		t.spring()
		err := fmt.Errorf("%s %s: the replica was killed before", r.Method, r.URL.Path)
		p.finish(nil, err)
		return nil, err
	}
	res, err := p.Next.RoundTrip(r)
	if t != nil {
		t.spring()
	}
	p.finish(res, err)
	return res, err
}

// begin notes that a write begins, and whether the rival was elected last. It returns the
// trap that this write springs, nil if it springs none.
func (p *apiProxy) begin(rivalElected time.Time) *trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	p.underWay++
	if rivalElected.After(p.elected) {
		p.outOfTurn++
	}
	t := p.trap
	if t == nil {
		return nil
	}
	if t.writes--; t.writes > 0 {
		return nil
	}
	p.trap = nil
	return t
}

// finish notes that a write has ended.
func (p *apiProxy) finish(res *http.Response, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underWay--
	if Succeeded(res, err) {
		p.succeeded = append(p.succeeded, time.Now())
	}
}

// restarted forgets what only the process before did.
func (p *apiProxy) restarted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaseReads, p.elected, p.succeeded, p.trap = 0, time.Time{}, nil, nil
}

func (p *apiProxy) setTrap(t trap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trap = &t
}

// standsBy reports whether the replica has tried to get the lease.
func (p *apiProxy) standsBy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaseReads > 0
}

func (p *apiProxy) lastElected() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.elected
}

func (p *apiProxy) objectWrites() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

func (p *apiProxy) writesUnderWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.underWay
}

func (p *apiProxy) fenceBroken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outOfTurn
}

func (p *apiProxy) wroteAfter(t time.Time) bool { return !p.firstWriteAfter(t).IsZero() }

// firstWriteAfter returns when the first write after t was answered.
func (p *apiProxy) firstWriteAfter(t time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.succeeded {
		if at.After(t) {
			return at
		}
	}
	return time.Time{}
}

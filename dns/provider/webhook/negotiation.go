package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// maxNegotiation limits the memory of a negotiation's response, in bytes: some 30,000 domains.
const maxNegotiation = 4 << 20

// negotiationTime is how long a filter is used. The program may restart with another one between two calls.
const negotiationTime = 10 * time.Minute

// attempts is the retry policy of a negotiation.
var attempts = httpapi.Retry{Tries: 5, FirstPause: 500 * time.Millisecond, Again: isTransient}

// negotiation is the filter of the names that the provider can have.
type negotiation struct {
	// running is held by a negotiation.
	running *semaphore.Weighted

	mu sync.Mutex
	// filter is the last one that the provider returned. fresh is false if the provider may have
	// restarted, so that it must be asked again.
	filter dns.Filter
	fresh  bool
	at     time.Time
}

func (n *negotiation) get() (filter dns.Filter, fresh bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.filter, n.fresh
}

func (n *negotiation) set(filter dns.Filter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.filter, n.fresh, n.at = filter, true, time.Now()
}

// expire has the provider asked again if the filter is older than maxAge.
func (n *negotiation) expire(maxAge time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh = n.fresh && time.Since(n.at) < maxAge
}

// negotiate returns the filter of the provider. It asks the provider if the filter is unknown.
func (p *remote) negotiate(ctx context.Context) (dns.Filter, error) {
	if filter, fresh := p.negotiation.get(); fresh {
		return filter, nil
	}
	if err := p.negotiation.running.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for the negotiation with the webhook provider: %w", err)
	}
	defer p.negotiation.running.Release(1)
	if filter, fresh := p.negotiation.get(); fresh {
		return filter, nil
	}
	filter, err := p.requestWithRetries(ctx)
	if errors.Is(err, provider.ErrRejected) {
		// The negotiation was rejected, not the changes that wait for it.
		err = errors.New(err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("negotiate with the webhook provider: %w: check that it runs, and --webhook-provider-url", err)
	}
	p.negotiation.set(filter)
	return filter, nil
}

// requestWithRetries asks the provider, with retries.
func (p *remote) requestWithRetries(ctx context.Context) (filter dns.Filter, err error) {
	err = attempts.Do(ctx, func() error {
		filter, err = p.requestFilter(ctx)
		return err
	})
	return filter, err
}

func (p *remote) requestFilter(ctx context.Context) (dns.Filter, error) {
	var filter dns.DomainFilter
	err := p.do(ctx, exchange{
		method: http.MethodGet, typed: true,
		decode: func(body io.Reader) error {
			return httpapi.Decode(httpapi.LimitDecoded(io.NopCloser(body), maxNegotiation), &filter)
		},
		accepts: func(status int) bool { return status/100 == 2 },
	})
	if err != nil {
		return nil, err
	}
	return &filter, nil
}

// isTransient reports whether a retry may help.
func isTransient(err error) bool {
	var status *httpapi.StatusError
	if errors.As(err, &status) {
		return status.Status >= 500
	}
	return httpapi.Unreachable(err)
}

// noName is the filter before the first negotiation. It selects no name.
type noName struct{}

// Match implements dns.Filter.
func (noName) Match(string) bool { return false }

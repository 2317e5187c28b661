package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// maxNegotiation is how many bytes of memory the answer of a negotiation may need: some 30,000
// domains.
const maxNegotiation = 4 << 20

// attempts says how a negotiation is tried.
var attempts = httpapi.Retry{Tries: 5, FirstPause: 500 * time.Millisecond, Again: passing}

// negotiation is what is known of the names that the provider can have.
type negotiation struct {
	// turn has a value while nobody negotiates.
	turn chan struct{}

	mu sync.Mutex
	// filter is the last one that the provider returned. fresh is false when the provider may
	// have been restarted, so that it has to be asked again.
	filter dns.Filter
	fresh  bool
}

func newNegotiation() *negotiation {
	n := &negotiation{turn: make(chan struct{}, 1)}
	n.turn <- struct{}{}
	return n
}

func (n *negotiation) get() (filter dns.Filter, fresh bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.filter, n.fresh
}

func (n *negotiation) set(filter dns.Filter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.filter, n.fresh = filter, true
}

func (n *negotiation) expire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh = false
}

// negotiate returns which names the provider can have. It asks the provider if that isn't
// known.
func (p *remote) negotiate(ctx context.Context) (dns.Filter, error) {
	if filter, fresh := p.negotiation.get(); fresh {
		return filter, nil
	}
	select {
	case <-p.negotiation.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the negotiation with the webhook provider: %w", ctx.Err())
	}
	defer func() { p.negotiation.turn <- struct{}{} }()
	if filter, fresh := p.negotiation.get(); fresh {
		return filter, nil
	}
	filter, err := p.ask(ctx)
	if errors.Is(err, provider.ErrRejected) {
		// The request was rejected, and not the changes that wait for its answer.
		err = errors.New(err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("negotiate with the webhook provider: %w: check that it runs, and --webhook-provider-url", err)
	}
	p.negotiation.set(filter)
	return filter, nil
}

// ask asks the provider, several times if necessary.
func (p *remote) ask(ctx context.Context) (filter dns.Filter, err error) {
	err = attempts.Do(ctx, func() error {
		filter, err = p.askOnce(ctx)
		return err
	})
	return filter, err
}

func (p *remote) askOnce(ctx context.Context) (dns.Filter, error) {
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

// passing reports whether another try may help.
func passing(err error) bool {
	var status *httpapi.StatusError
	if errors.As(err, &status) {
		return status.Status >= 500
	}
	return httpapi.Unreachable(err)
}

// noName is the filter of a provider of which nothing is known yet. No name passes.
type noName struct{}

// Match implements dns.Filter.
func (noName) Match(string) bool { return false }

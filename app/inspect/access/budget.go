package access

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

// Rate limits of reviews: per second, and burst. Three groups of clients have separate limits, so
// that a flood of wrong tokens locks out no client that was allowed before. One address may use
// only a part of the limit of unknown clients.
const (
	knownTokensPerSecond, knownTokensBurst       = 5, 10
	knownAddressesPerSecond, knownAddressesBurst = 3, 5
	unknownPerSecond, unknownBurst               = 5, 10
	addressPerSecond, addressBurst               = 1, 4
)

const (
	// knownFor is how long a token and an address count as known after they were allowed.
	knownFor = time.Hour
	// maxKnown limits the known tokens, the known addresses, and the limiters of addresses.
	maxKnown = 256
)

// client is the sender of a token.
type client struct {
	token [sha256.Size]byte
	from  netip.Addr
}

// budget limits the rate of reviews. Its methods may be called from any goroutine.
type budget struct {
	knownTokens, knownAddresses, unknown *rate.Limiter

	// tokens and addresses are those that were allowed.
	tokens, addresses *cache.LRUExpireCache

	mu    sync.Mutex
	rates map[netip.Addr]*rate.Limiter // of addresses that aren't known
}

func newBudget() *budget {
	return &budget{
		knownTokens:    rate.NewLimiter(knownTokensPerSecond, knownTokensBurst),
		knownAddresses: rate.NewLimiter(knownAddressesPerSecond, knownAddressesBurst),
		unknown:        rate.NewLimiter(unknownPerSecond, unknownBurst),
		tokens:         cache.NewLRUExpireCache(maxKnown),
		addresses:      cache.NewLRUExpireCache(maxKnown),
		rates:          map[netip.Addr]*rate.Limiter{},
	}
}

// wait waits until a review for this client is permitted. It fails at once if that would be after
// the end of the context.
func (b *budget) wait(ctx context.Context, who client) error {
	for _, limit := range b.limits(who) {
		if limit.Wait(ctx) != nil {
			return errBusy
		}
	}
	return nil
}

// limits returns the limiters that apply to a client.
func (b *budget) limits(who client) []*rate.Limiter {
	if _, known := b.tokens.Get(who.token); known {
		return []*rate.Limiter{b.knownTokens}
	}
	if _, known := b.addresses.Get(who.from); known {
		return []*rate.Limiter{b.knownAddresses}
	}
	return []*rate.Limiter{b.rateOf(who.from), b.unknown}
}

// rateOf returns the limiter of an address. If there are too many, an unused one is dropped, which
// equals a new one.
func (b *budget) rateOf(from netip.Addr) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limit := b.rates[from]; limit != nil {
		return limit
	}
	if len(b.rates) >= maxKnown {
		for other, limit := range b.rates {
			if limit.Tokens() >= addressBurst {
				delete(b.rates, other)
			}
		}
	}
	if len(b.rates) >= maxKnown {
		return b.unknown // all limiters are in use, so this address shares the limit of unknown clients
	}
	limit := rate.NewLimiter(addressPerSecond, addressBurst)
	b.rates[from] = limit
	return limit
}

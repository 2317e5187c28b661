package access

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The rates at which the API server is asked, in questions per second and at once. Three groups of
// clients have a share each, so that a flood of wrong tokens shuts out no client that was allowed
// before. One address may use a part of the share of unknown clients.
const (
	knownTokensPerSecond, knownTokensBurst       = 5, 10
	knownAddressesPerSecond, knownAddressesBurst = 3, 5
	unknownPerSecond, unknownBurst               = 5, 10
	addressPerSecond, addressBurst               = 1, 4
)

const (
	// knownFor is how long a token and an address count as known after they were allowed.
	knownFor = time.Hour
	// maxKnown is how many known tokens, known addresses, and rates of addresses are kept.
	maxKnown = 256
)

// client is who sends a token.
type client struct {
	token [sha256.Size]byte
	from  netip.Addr
}

// budget limits how often the API server is asked. Its methods may be called from any goroutine.
type budget struct {
	knownTokens, knownAddresses, unknown *rate.Limiter

	mu        sync.Mutex
	tokens    map[[sha256.Size]byte]time.Time // when they were allowed last
	addresses map[netip.Addr]time.Time
	rates     map[netip.Addr]*rate.Limiter // of addresses that aren't known
}

func newBudget() *budget {
	return &budget{
		knownTokens:    rate.NewLimiter(knownTokensPerSecond, knownTokensBurst),
		knownAddresses: rate.NewLimiter(knownAddressesPerSecond, knownAddressesBurst),
		unknown:        rate.NewLimiter(unknownPerSecond, unknownBurst),
		tokens:         map[[sha256.Size]byte]time.Time{},
		addresses:      map[netip.Addr]time.Time{},
		rates:          map[netip.Addr]*rate.Limiter{},
	}
}

// wait returns when a question of this client may be asked. It fails at once if that is not before
// the context ends.
func (b *budget) wait(ctx context.Context, who client) error {
	for _, limit := range b.limits(who) {
		if limit.Wait(ctx) != nil {
			return errBusy
		}
	}
	return nil
}

// limits returns the rates that count for a client.
func (b *budget) limits(who client) []*rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case now.Sub(b.tokens[who.token]) < knownFor:
		return []*rate.Limiter{b.knownTokens}
	case now.Sub(b.addresses[who.from]) < knownFor:
		return []*rate.Limiter{b.knownAddresses}
	default:
		return []*rate.Limiter{b.rateOf(who.from), b.unknown}
	}
}

// rateOf returns the rate of an address. If there are too many, one that could ask at once is
// dropped: a new one would be the same.
func (b *budget) rateOf(from netip.Addr) *rate.Limiter {
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
		return b.unknown // they are all busy, so this one can only ask as slowly as they
	}
	limit := rate.NewLimiter(addressPerSecond, addressBurst)
	b.rates[from] = limit
	return limit
}

// allowed notes that a client was allowed.
func (b *budget) allowed(who client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	note(b.tokens, who.token, now)
	note(b.addresses, who.from, now)
}

// note sets when something was allowed last. If there is too much, the oldest is dropped.
func note[K comparable](known map[K]time.Time, key K, now time.Time) {
	if _, ok := known[key]; !ok && len(known) >= maxKnown {
		var oldest K
		first := now
		for k, at := range known {
			if !at.After(first) {
				oldest, first = k, at
			}
		}
		delete(known, oldest)
	}
	known[key] = now
}

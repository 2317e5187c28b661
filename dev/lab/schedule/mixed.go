package schedule

import (
	"slices"
	"time"
)

// dealt are the kinds in mixed schedules.
var dealt = []Kind{
	Kill, Terminate, Pause, APIServerKill, EtcdKill, EtcdCompact, EtcdRestore, EtcdFull, Delay, Slow, Cut, HalfOpen, APIErrors,
	WithdrawRight, DropVersion,
	DNSDrop, ProviderStorm, BINDPause, BINDRestart, StealLease, RotateCertificates, SlowClient,
}

// withdrawn are the resources of WithdrawRight: the Lease, and the kinds that are, or make, endpoints and
// records.
var withdrawn = []string{"leases", "pods", "services", "endpointslices", "externalworkloads", "dnsendpoints"}

const (
	// calmLength is the length of the calm window of a mixed schedule, unless the run is too short.
	calmLength = 20 * time.Second
	// lanes is the maximum number of concurrent faults.
	lanes = 3
	// tries is how many kinds are tried for one place.
	tries = 6
)

// mixed deals kinds like cards: each comes once before one comes again. It deals them to three lanes with one
// fault at a time. The third lane has longer pauses.
func (b *builder) mixed() {
	// Twelve consecutive seeds have each clock twice. Neighbours differ in everything else that depends on
	// the seed.
	if which := int(b.seed / 2 % uint64(2*len(clocks))); which < len(clocks) {
		b.skewClock(clocks[which])
	}
	length := min(calmLength, b.end/3)
	from := b.between(b.end/4, b.end*3/4-length)
	b.calm = window{from, from + length}
	var deck []Kind
	next := [lanes]time.Duration{}
	for lane := range next {
		next[lane] = b.between(2*time.Second, 8*time.Second)
	}
	for {
		lane := earliest(next)
		if next[lane] >= b.end {
			return
		}
		if len(deck) < tries {
			deck = append(deck, b.shuffled()...)
		}
		var until time.Duration
		deck, until = b.deal(deck, next[lane])
		pause := b.between(time.Second, 6*time.Second)
		if lane == lanes-1 {
			pause = b.between(10*time.Second, 25*time.Second)
		}
		next[lane] = until + pause
	}
}

// earliest returns the lane that is free first.
func earliest(next [lanes]time.Duration) int {
	lane := 0
	for i := range next {
		if next[i] < next[lane] {
			lane = i
		}
	}
	return lane
}

func (b *builder) shuffled() []Kind {
	deck := slices.Clone(dealt)
	b.rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

// deal places the first kind of the deck that can begin at a time. It returns the rest of the deck, and when
// the lane is free again. Kinds without a target are removed.
func (b *builder) deal(deck []Kind, at time.Duration) ([]Kind, time.Duration) {
	for i := 0; i < tries && i < len(deck); {
		targets := b.targets(deck[i])
		if len(targets) == 0 {
			deck = slices.Delete(deck, i, i+1)
			continue
		}
		b.rng.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
		f := b.fault(deck[i], at)
		for _, f.Target = range targets {
			if b.fits(f) && b.add(f) {
				return slices.Delete(deck, i, i+1), f.Until
			}
		}
		i++
	}
	return deck, at
}

// targets returns the targets of a kind.
func (b *builder) targets(k Kind) []string {
	switch k {
	case Kill, Terminate, Pause:
		return slices.Clone(b.lab.Replicas)
	case APIServerKill:
		return []string{APIServer}
	case EtcdKill, EtcdCompact, EtcdRestore, EtcdFull:
		return []string{Etcd}
	case Delay, Slow, Cut, HalfOpen:
		return slices.Clone(b.lab.Links)
	case APIErrors, WithdrawRight:
		return slices.Clone(b.lab.API)
	case DropVersion:
		return slices.Clone(b.lab.Definitions)
	case DNSDrop:
		return slices.Clone(b.lab.DNS)
	case ProviderStorm:
		if len(b.lab.DNS) == 0 {
			return nil
		}
		return []string{AllDNS}
	case BINDPause, BINDRestart:
		if len(b.lab.DNS) == 0 {
			return nil
		}
		return []string{NameServer}
	case StealLease:
		return slices.Clone(b.lab.Leases)
	case RotateCertificates:
		return slices.Clone(b.lab.Certificates)
	case SlowClient:
		return slices.Clone(b.lab.Clients)
	}
	panic("schedule: no targets are known for " + string(k))
}

// fault returns a fault of a kind without its target.
func (b *builder) fault(k Kind, at time.Duration) Fault {
	f := Fault{At: at, Kind: k}
	lasts := func(low, high time.Duration) { f.Until = at + b.between(low, high) }
	switch k {
	case Kill, Terminate:
		lasts(0, 10*time.Second)
	case Pause, APIServerKill:
		lasts(time.Second, 20*time.Second)
	case EtcdKill:
		lasts(time.Second, 10*time.Second)
	case EtcdCompact:
		f.Until = at
		if f.Relist = b.rng.IntN(2) == 0; f.Relist {
			lasts(time.Second, 8*time.Second)
		}
	case EtcdRestore:
		lasts(2*time.Second, 8*time.Second)
		// The revision is bumped, as docs/operating.md recommends, because a replica that other faults keep
		// from the API server for long can't see that the revision went back.
		f.Age, f.Bump = b.between(20*time.Second, 30*time.Second), true
	case EtcdFull:
		lasts(5*time.Second, 10*time.Second)
	case Delay:
		lasts(5*time.Second, 20*time.Second)
		f.Delay = b.between(20*time.Millisecond, 800*time.Millisecond)
	case Slow:
		lasts(5*time.Second, 20*time.Second)
		f.Rate = oneOf(b, 2<<10, 16<<10, 64<<10)
	case Cut:
		lasts(500*time.Millisecond, 12*time.Second)
	case HalfOpen:
		lasts(8*time.Second, 30*time.Second)
	case APIErrors:
		lasts(5*time.Second, 20*time.Second)
		f.Share, f.Status, f.Applied = b.share(0.1, 0.6), oneOf(b, 429, 500, 503, Reset), b.rng.IntN(2) == 0
		// By its meaning, 429 says that nothing was done, so a client may repeat any request.
		f.Applied = f.Applied && f.Status != 429
	case WithdrawRight:
		lasts(5*time.Second, 15*time.Second)
		f.Resource = oneOf(b, withdrawn...)
	case DropVersion:
		lasts(5*time.Second, 15*time.Second)
	case DNSDrop:
		lasts(5*time.Second, 20*time.Second)
		f.Share, f.Applied = b.share(0.2, 0.8), b.rng.IntN(2) == 0
	case ProviderStorm:
		lasts(5*time.Second, 20*time.Second)
		f.Share, f.Applied, f.Delay = b.share(0.2, 0.5), b.rng.IntN(2) == 0, b.between(100*time.Millisecond, 2*time.Second)
	case BINDPause:
		lasts(time.Second, 15*time.Second)
	case BINDRestart:
		lasts(0, 5*time.Second)
	case StealLease:
		lasts(time.Second, 8*time.Second)
	case SlowClient:
		lasts(5*time.Second, 30*time.Second)
	default: // RotateCertificates is instantaneous
		f.Until = at
	}
	return f
}

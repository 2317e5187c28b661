package schedule

import (
	"slices"
	"time"
)

// Names of profiles.
const (
	// Mixed deals all kinds of faults.
	Mixed = "mixed"
	// Skew gives one replica another clock.
	Skew = "skew"
	// FastClock gives one replica a clock that is too fast for a Lease.
	FastClock = "fast-clock"
)

// Profile is a method to make schedules.
type Profile struct {
	Name string
	// About describes the faults in a sentence.
	About string
	write func(*builder)
}

// profiles are all profiles, the default first.
var profiles = []Profile{
	{Mixed, "All kinds of faults, up to three at once, and at least one calm stretch.", (*builder).mixed},
	{"calm", "No fault at all.", func(*builder) {}},
	{"split-brain", "Each replica in turn is paused for 40 s, the leader among them.", (*builder).splitBrain},
	{"outage", "The API server is away for 60 s.", (*builder).outage},
	{"compaction", "etcd is compacted again and again; each second time the API server is away meanwhile.", (*builder).compaction},
	{"restore", "etcd is restored from a copy of 20 to 30 s before, in turn with a bumped revision and with one that goes back.", (*builder).restores},
	{Skew, "One replica has another clock, and the leader changes again and again.", (*builder).skew},
	{FastClock, "The clock of one replica runs twice as fast, and the leader changes again and again.", (*builder).fastClock},
	{"herd", "One replica after the other is killed, so that its clients go to the others.", (*builder).reconnectStorm},
	{"half-open", "One link after the other is half-open for 35 s.", (*builder).halfOpen},
	{"provider-storm", "Half of the messages to the name server are lost, before or after they are applied.", (*builder).storms},
	{"rights", "The right to the Lease, or to one kind, is withdrawn from all replicas, and given back.", (*builder).rights},
	{"versions", "A CustomResourceDefinition serves another version than the one that is read, and serves that again.", (*builder).versions},
	{"slow-clients", "Clients don't read for most of the run.", (*builder).slowClients},
}

// Profiles returns all profiles, the default first.
func Profiles() []Profile { return slices.Clone(profiles) }

func names() (all []string) {
	for _, p := range profiles {
		all = append(all, p.Name)
	}
	return all
}

// start is the time of the first fault of a profile, when the run has made some responses and writes.
const start = 10 * time.Second

// splitBrain pauses one replica after the other, so that one of two pauses hits the leader.
func (b *builder) splitBrain() {
	b.inTurn(b.lab.Replicas, 40*time.Second, 15*time.Second, func(at time.Duration, replica string) Fault {
		return Fault{At: at, Until: at + 40*time.Second, Kind: Pause, Target: replica}
	})
}

func (b *builder) outage() {
	length := min(60*time.Second, b.end-start)
	b.add(Fault{At: start, Until: start + length, Kind: APIServerKill, Target: APIServer})
}

func (b *builder) compaction() {
	relist := b.rng.IntN(2) == 0
	for at := start; ; {
		f := Fault{At: at, Until: at, Kind: EtcdCompact, Target: Etcd, Relist: relist}
		if relist {
			f.Until += b.between(time.Second, 10*time.Second)
		}
		if !b.add(f) {
			return
		}
		relist = !relist
		at = f.Until + b.between(8*time.Second, 15*time.Second)
	}
}

func (b *builder) restores() {
	bump := b.rng.IntN(2) == 0
	for at := start; ; {
		f := Fault{Kind: EtcdRestore, Target: Etcd, Age: b.between(20*time.Second, 30*time.Second), Bump: bump}
		f.At = at + f.Age
		f.Until = f.At + b.between(2*time.Second, 8*time.Second)
		if !b.add(f) {
			return
		}
		bump = !bump
		at = f.Until + b.between(15*time.Second, 20*time.Second)
	}
}

func (b *builder) skew() {
	b.skewClock(clocks[b.rng.IntN(len(clocks))])
	b.changeLeaders()
}

func (b *builder) fastClock() {
	b.skewClock(Clock{Rate: 2})
	b.changeLeaders()
}

// changeLeaders ends or pauses one replica after the other for longer than a Lease lasts in the lab.
func (b *builder) changeLeaders() {
	b.inTurn(b.lab.Replicas, 12*time.Second, 10*time.Second, func(at time.Duration, replica string) Fault {
		length := 12 * time.Second
		kind := oneOf(b, Pause, Terminate, Kill)
		if kind != Pause {
			length = b.between(time.Second, 8*time.Second)
		}
		return Fault{At: at, Until: at + length, Kind: kind, Target: replica}
	})
}

func (b *builder) reconnectStorm() {
	b.inTurn(b.lab.Replicas, 10*time.Second, 12*time.Second, func(at time.Duration, replica string) Fault {
		return Fault{At: at, Until: at + b.between(2*time.Second, 10*time.Second), Kind: Kill, Target: replica}
	})
}

func (b *builder) halfOpen() {
	b.inTurn(b.lab.Links, 35*time.Second, 5*time.Second, func(at time.Duration, link string) Fault {
		return Fault{At: at, Until: at + 35*time.Second, Kind: HalfOpen, Target: link}
	})
}

func (b *builder) storms() {
	if len(b.lab.DNS) == 0 {
		return
	}
	b.inTurn([]string{AllDNS}, 25*time.Second, 10*time.Second, func(at time.Duration, target string) Fault {
		return Fault{
			At: at, Until: at + 25*time.Second, Kind: ProviderStorm, Target: target,
			Share: 0.5, Applied: b.rng.IntN(2) == 0, Delay: b.between(100*time.Millisecond, 2*time.Second),
		}
	})
}

func (b *builder) slowClients() {
	for _, client := range b.lab.Clients {
		at := b.between(start, start+10*time.Second)
		b.add(Fault{At: at, Until: b.end, Kind: SlowClient, Target: client})
	}
}

func (b *builder) rights() {
	if len(b.lab.API) == 0 {
		return
	}
	b.inTurn(withdrawn, 15*time.Second, 8*time.Second, func(at time.Duration, resource string) Fault {
		of := func(link string) Fault {
			return Fault{At: at, Until: at + 15*time.Second, Kind: WithdrawRight, Target: link, Resource: resource}
		}
		for _, link := range b.lab.API[1:] {
			b.add(of(link))
		}
		return of(b.lab.API[0])
	})
}

func (b *builder) versions() {
	b.inTurn(b.lab.Definitions, 15*time.Second, 8*time.Second, func(at time.Duration, name string) Fault {
		return Fault{At: at, Until: at + 15*time.Second, Kind: DropVersion, Target: name}
	})
}

// inTurn adds a fault for one target after the other, starting with a random one, as long as a fault of the
// longest length still fits.
func (b *builder) inTurn(targets []string, longest, pause time.Duration, fault func(at time.Duration, target string) Fault) {
	if len(targets) == 0 {
		return
	}
	first := b.rng.IntN(len(targets))
	for i, at := 0, start; at+longest <= b.end; i++ {
		f := fault(at, targets[(first+i)%len(targets)])
		b.add(f)
		at = f.Until + pause
	}
}

// clocks are the possible clocks of a replica. A Lease of 6 s that is renewed within 4 s tolerates a rate
// below 1.5.
var clocks = []Clock{
	{Offset: 10 * time.Minute, Rate: 1},
	{Offset: -10 * time.Minute, Rate: 1},
	{Rate: 1.3},
}

// skewClock gives one replica this clock.
func (b *builder) skewClock(c Clock) {
	if len(b.lab.Replicas) > 0 {
		b.clock = c
		b.clock.Replica = oneOf(b, b.lab.Replicas...)
	}
}

package schedule

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Shortest is the length of the shortest run with time for faults and for the calm.
const Shortest = 30 * time.Second

// Lab has the possible targets. A kind of fault without a target is left out.
type Lab struct {
	// Replicas are the processes of Signpost.
	Replicas []string
	// Links can be delayed, slow, cut and half-open: replica-a→kube-apiserver, replica-a→bind,
	// client→replica-a.
	Links []string
	// API are the links with an API proxy, where requests can fail. DNS are those with a DNS proxy, where
	// messages can be dropped. Both may be in Links, too.
	API, DNS []string
	// Leases can be stolen.
	Leases []string
	// Definitions are the names of CustomResourceDefinitions whose version can be dropped.
	Definitions []string
	// Certificates are the names of servers whose certificates can be rotated.
	Certificates []string
	// Clients can stop reading.
	Clients []string
}

// Options are the arguments of Make.
type Options struct {
	Seed     uint64
	Duration time.Duration // at least Shortest; each fault ends before
	Lab      Lab
	Profile  string // one of Profiles; "mixed" if empty
}

// Make returns the schedule of a run.
func Make(o Options) (Schedule, error) {
	if o.Profile == "" {
		o.Profile = Mixed
	}
	if o.Duration < Shortest {
		return Schedule{}, fmt.Errorf("make a schedule: a run of %s has no room for faults and for calm: give it %s or more", o.Duration, Shortest)
	}
	i := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == o.Profile })
	if i < 0 {
		return Schedule{}, fmt.Errorf("make a schedule: there is no profile %q: take one of %s", o.Profile, strings.Join(names(), ", "))
	}
	b := &builder{rng: rand.New(rand.NewPCG(o.Seed, 0x5c4ed)), seed: o.Seed, lab: o.Lab, end: o.Duration - margin}
	profiles[i].write(b)
	slices.SortStableFunc(b.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Until, b.Until), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Target, b.Target))
	})
	for i := range b.faults {
		b.faults[i].ID = i + 1
	}
	return Schedule{Profile: o.Profile, Clock: b.clock, Faults: b.faults}, nil
}

// builder is an unfinished schedule.
type builder struct {
	rng    *rand.Rand
	seed   uint64
	lab    Lab
	end    time.Duration // latest end of a fault
	clock  Clock
	faults []Fault
	// calm is a window without any fault.
	calm window
}

// window is a part of the run.
type window struct{ from, to time.Duration }

func (w window) overlaps(o window) bool { return w.from < o.to && o.from < w.to }

// between returns a random time of at least low and less than high, in milliseconds.
func (b *builder) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(b.rng.Int64N(int64((high-low)/time.Millisecond)))*time.Millisecond
}

// share returns a random number of at least low and less than high, with two digits.
func (b *builder) share(low, high float64) float64 {
	return float64(int(100*(low+b.rng.Float64()*(high-low)))) / 100
}

func oneOf[T any](b *builder, all ...T) T { return all[b.rng.IntN(len(all))] }

// add appends a fault of a profile if it ends in time, and reports whether it does. It adds the EtcdCopy of
// an EtcdRestore.
func (b *builder) add(f Fault) bool {
	if f.Until > b.end {
		return false
	}
	b.faults = append(b.faults, f)
	if f.Kind == EtcdRestore {
		b.faults = append(b.faults, f.copied())
	}
	return true
}

// copied returns the EtcdCopy for f, an EtcdRestore.
func (f Fault) copied() Fault {
	return Fault{At: f.At - f.Age, Until: f.At - f.Age, Kind: EtcdCopy, Target: f.Target}
}

package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is like that of the program, with two replicas.
var lab = Lab{
	Replicas: []string{"replica-a", "replica-b"},
	Links: []string{
		"replica-a→kube-apiserver", "replica-a→kube-apiserver (back)", "replica-b→kube-apiserver", "replica-b→kube-apiserver (back)",
		"replica-a→bind", "replica-b→bind", "client→replica-a", "client→replica-b",
	},
	API:          []string{"replica-a→kube-apiserver", "replica-b→kube-apiserver"},
	DNS:          []string{"replica-a→bind", "replica-b→bind"},
	Leases:       []string{"signpost-controllers", "signpost-dns"},
	Certificates: []string{"kube-apiserver"},
	Definitions:  []string{"externalworkloads.workload.linkerd.io"},
	Clients:      []string{"client-1", "client-2"},
}

func mustMake(t *testing.T, o Options) Schedule {
	t.Helper()
	s, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGolden shows that a seed always gives the same schedule.
func TestGolden(t *testing.T) {
	o := Options{Seed: 7, Duration: 3 * time.Minute, Lab: lab}
	s := mustMake(t, o)
	if diff := cmp.Diff(s, mustMake(t, o)); diff != "" {
		t.Errorf("the same seed gave another schedule (-first +second):\n%s", diff)
	}
	golden.Check(t, "mixed-7.txt", s.String())
}

// TestAllKinds shows that 24 seeds of three minutes contain each kind and each clock.
func TestAllKinds(t *testing.T) {
	missing := map[string]bool{"offset 10m0s": true, "offset -10m0s": true, "rate 1.3": true, "none": true}
	for _, k := range dealt {
		missing[string(k)] = true
	}
	for seed := range uint64(24) {
		s := mustMake(t, Options{Seed: seed, Duration: 3 * time.Minute, Lab: lab})
		for _, f := range s.Faults {
			delete(missing, string(f.Kind))
		}
		for clock := range missing {
			if strings.Contains(s.Clock.String(), clock) {
				delete(missing, clock)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("24 seeds don't have %v", missing)
	}
}

// TestPromises checks the rules for each profile and many seeds and durations.
func TestPromises(t *testing.T) {
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			for seed := range uint64(200) {
				for _, duration := range []time.Duration{Shortest, 90 * time.Second, 3 * time.Minute, 10 * time.Minute} {
					s := mustMake(t, Options{Seed: seed, Duration: duration, Lab: lab, Profile: p.Name})
					if wrong := broken(s, duration); wrong != "" {
						t.Fatalf("seed %d, %s: %s\n%s", seed, duration, wrong, s)
					}
				}
			}
		})
	}
}

// broken returns the rule that a schedule breaks, or "".
func broken(s Schedule, duration time.Duration) string {
	b := &builder{lab: lab}
	var quiet, last time.Duration
	for i, f := range s.Faults {
		quiet, last = max(quiet, f.At-last), max(last, f.Until)
		switch {
		case f.ID != i+1:
			return "the numbers are not in order"
		case f.Until < f.At:
			return "a fault ends before it begins"
		case f.Until > duration-margin:
			return "a fault ends too late"
		case f.Target == "":
			return "a fault has no target"
		}
		for _, other := range s.Faults[:i] {
			if f.window().overlaps(other.window()) && b.collide(f, other) {
				return "two faults touch the same thing"
			}
		}
	}
	switch {
	case atOnce(s.Faults) > lanes:
		return "there are too many faults at once"
	case s.Profile == Mixed && max(quiet, duration-last) < min(calmLength, (duration-margin)/3):
		return "there is no calm stretch"
	case longestAllDead(s.Faults, lab.Replicas) > allDead:
		return "both replicas are away for too long"
	}
	return ""
}

func atOnce(faults []Fault) (most int) {
	for _, f := range faults {
		n := 0
		for _, other := range faults {
			if other.At <= f.At && f.At < other.Until {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestEnough shows that a mixed schedule has enough faults for its length.
func TestEnough(t *testing.T) {
	for seed := range uint64(50) {
		s := mustMake(t, Options{Seed: seed, Duration: 3 * time.Minute, Lab: lab})
		if len(s.Faults) < 20 {
			t.Errorf("seed %d has only %d faults:\n%s", seed, len(s.Faults), s)
		}
	}
}

// TestProfiles shows that each profile has the fault of its name in a run of three minutes.
func TestProfiles(t *testing.T) {
	for name, want := range map[string]struct {
		kind   Kind
		number int
		length time.Duration
	}{
		"split-brain":    {Pause, 2, 40 * time.Second},
		"outage":         {APIServerKill, 1, 60 * time.Second},
		"compaction":     {EtcdCompact, 6, 0},
		"herd":           {Kill, 5, 2 * time.Second},
		"half-open":      {HalfOpen, 4, 35 * time.Second},
		"provider-storm": {ProviderStorm, 4, 25 * time.Second},
		"rights":         {WithdrawRight, 12, 15 * time.Second},
		"versions":       {DropVersion, 6, 15 * time.Second},
		"slow-clients":   {SlowClient, 2, 2 * time.Minute},
	} {
		s := mustMake(t, Options{Seed: 1, Duration: 3 * time.Minute, Lab: lab, Profile: name})
		n := 0
		for _, f := range s.Faults {
			if f.Kind == want.kind && f.Until-f.At >= want.length {
				n++
			}
		}
		if n != len(s.Faults) || n < want.number {
			t.Errorf("%s has %d of %d faults %s of at least %s, want %d:\n%s", name, n, len(s.Faults), want.kind, want.length, want.number, s)
		}
	}
	for _, profile := range []string{Skew, FastClock} {
		s := mustMake(t, Options{Seed: 1, Duration: 3 * time.Minute, Lab: lab, Profile: profile})
		if s.Clock.Replica == "" || len(s.Faults) == 0 || (s.Clock.Rate == 2) != (profile == FastClock) {
			t.Errorf("%s has no such clock, or nothing that changes the leader:\n%s", profile, s)
		}
	}
}

// TestRestores shows that restores in a run of three minutes alternate between a bumped revision and one that
// goes back. Each copy is as old as its fault says, and is made after the restore before.
func TestRestores(t *testing.T) {
	bumped := map[bool]int{}
	for seed := range uint64(20) {
		s := mustMake(t, Options{Seed: seed, Duration: 3 * time.Minute, Lab: lab, Profile: "restore"})
		for i, f := range s.Faults {
			if f.Kind != EtcdRestore {
				continue
			}
			bumped[f.Bump]++
			if made := s.Faults[i-1]; made.Kind != EtcdCopy || made.At != f.At-f.Age {
				t.Errorf("seed %d: fault %d has no copy of %s before:\n%s", seed, f.ID, f.Age, s)
			}
			if i > 2 && s.Faults[i-2].Bump == f.Bump {
				t.Errorf("seed %d: fault %d is like the restore before:\n%s", seed, f.ID, s)
			}
		}
	}
	if bumped[true] < 20 || bumped[false] < 20 {
		t.Errorf("in 20 seeds, %d restores have a bumped revision, and %d don't", bumped[true], bumped[false])
	}
}

// TestMixedRestores shows that restores in mixed schedules are bumped, because other faults may hide that the
// revision went back. Each copy is restored before the next one is made.
func TestMixedRestores(t *testing.T) {
	for seed := range uint64(200) {
		s := mustMake(t, Options{Seed: seed, Duration: 10 * time.Minute, Lab: lab})
		copied := false
		for _, f := range s.Faults {
			switch {
			case f.Kind == EtcdRestore && !f.Bump:
				t.Errorf("seed %d: the revision goes back:\n%s", seed, s)
			case f.Kind == EtcdCopy && copied, f.Kind == EtcdRestore && !copied:
				t.Errorf("seed %d: fault %d is out of turn:\n%s", seed, f.ID, s)
			}
			copied = f.Kind == EtcdCopy || copied && f.Kind != EtcdRestore
		}
	}
}

// TestSplitBrainHitsTheLeader shows that the two pauses of split-brain hit different replicas, one of which
// leads.
func TestSplitBrainHitsTheLeader(t *testing.T) {
	s := mustMake(t, Options{Seed: 3, Duration: 2 * time.Minute, Lab: lab, Profile: "split-brain"})
	if len(s.Faults) != 2 || s.Faults[0].Target == s.Faults[1].Target {
		t.Errorf("got:\n%s", s)
	}
}

// TestSmallLab shows that faults without a target are left out.
func TestSmallLab(t *testing.T) {
	s := mustMake(t, Options{Seed: 3, Duration: 3 * time.Minute, Lab: Lab{Replicas: []string{"replica-a"}}})
	kinds := []Kind{Kill, Terminate, Pause, APIServerKill, EtcdKill, EtcdCompact, EtcdCopy, EtcdRestore, EtcdFull}
	for _, f := range s.Faults {
		if !slices.Contains(kinds, f.Kind) {
			t.Errorf("%s of %q, which isn't there", f.Kind, f.Target)
		}
	}
	for _, p := range Profiles() {
		mustMake(t, Options{Duration: time.Minute, Profile: p.Name})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"too short":  {Options{Duration: 10 * time.Second}, "no room"},
		"no profile": {Options{Duration: time.Minute, Profile: "nonesuch"}, `no profile "nonesuch"`},
	} {
		if _, err := Make(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLongestAllDead(t *testing.T) {
	second := func(kind Kind, replica string, from, to int) Fault {
		return Fault{Kind: kind, Target: replica, At: time.Duration(from) * time.Second, Until: time.Duration(to) * time.Second}
	}
	for name, c := range map[string]struct {
		faults []Fault
		want   time.Duration
	}{
		"one":                {[]Fault{second(Pause, "replica-a", 0, 40)}, 0},
		"one after another":  {[]Fault{second(Pause, "replica-a", 0, 10), second(Pause, "replica-b", 10, 20)}, 0},
		"both":               {[]Fault{second(Pause, "replica-a", 0, 10), second(Pause, "replica-b", 4, 20)}, 6 * time.Second},
		"until it starts":    {[]Fault{second(Kill, "replica-a", 0, 10), second(Pause, "replica-b", 4, 20)}, 9 * time.Second},
		"in two pieces":      {[]Fault{second(Pause, "replica-a", 0, 30), second(Pause, "replica-b", 4, 8), second(Pause, "replica-b", 10, 15)}, 5 * time.Second},
		"without a gap":      {[]Fault{second(Pause, "replica-a", 0, 30), second(Pause, "replica-b", 4, 8), second(Kill, "replica-b", 8, 9)}, 8 * time.Second},
		"not of a link":      {[]Fault{second(Cut, "replica-a", 0, 10), second(Pause, "replica-b", 4, 20)}, 0},
		"of another process": {[]Fault{second(Pause, "replica-c", 0, 10), second(Pause, "replica-b", 4, 20)}, 0},
	} {
		if got := longestAllDead(c.faults, lab.Replicas); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

// picky is a zone whose server refuses batches with a bad group, and doesn't say which one that is.
type picky struct {
	bad     map[string]bool
	refused int
}

// Change implements Zone.
func (z *picky) Change(_ context.Context, batch []*Group) error {
	for _, g := range batch {
		if z.bad[g.Subject] {
			z.refused++
			return provider.ErrRejected
		}
	}
	return nil
}

// Verify implements Zone.
func (*picky) Verify(context.Context, []*Group) (State, error) { return Unclear, nil }

// Refused implements Zone.
func (*picky) Refused(batch []*Group, err error) ([]*Group, error) { return batch, err }

// Note implements Zone.
func (*picky) Note([]*Group, time.Time) {}

// Forget implements Zone.
func (*picky) Forget(*Group) {}

// TestManyRefusals shows that one call sends a limited number of refused batches, that it finds refused
// groups, and that the groups that were not sent on their own are reported as not tried.
func TestManyRefusals(t *testing.T) {
	const groups = 1000
	for name, bad := range map[string]func(int) bool{
		"all":        func(int) bool { return true },
		"every 2nd":  func(i int) bool { return i%2 == 1 },
		"every 30th": func(i int) bool { return i%30 == 29 },
	} {
		t.Run(name, func(t *testing.T) {
			z := &picky{bad: map[string]bool{}}
			all := make([]*Group, groups)
			for i := range all {
				all[i] = &Group{Subject: fmt.Sprint(i), Places: []int{i}}
				z.bad[all[i].Subject] = bad(i)
			}
			a := &Applying[*Group]{Zone: z, Name: "shop.test", Server: "the server"}
			err := a.Apply(t.Context(), all, [][]*Group{all[:groups/2], all[groups/2:]}, groups)
			var each *provider.ApplyError
			if !errors.As(err, &each) {
				t.Fatal(err)
			}
			rejected, notTried := 0, 0
			for i, err := range each.Errs {
				switch {
				case errors.Is(err, provider.ErrNotTried):
					notTried++
				case errors.Is(err, provider.ErrRejected):
					rejected++
					if !bad(i) {
						t.Errorf("the good group %d: %v", i, err)
					}
				case err != nil || bad(i):
					t.Errorf("group %d: %v", i, err)
				}
			}
			// Each level of halving may have one more refusal when the limit is reached.
			if rejected == 0 || notTried == 0 || z.refused > maxRefusals+10 {
				t.Errorf("%d groups are rejected and %d not tried, after %d refusals", rejected, notTried, z.refused)
			}
		})
	}
}

// scripted is a zone whose server answers as a test says. It notes what it gets as text.
type scripted struct {
	change func(subjects string) error
	state  State
	verify error
	blamed string
	log    []string
}

func subjects(batch []*Group) (text string) {
	for _, g := range batch {
		text += g.Subject
	}
	return text
}

// Change implements Zone.
func (z *scripted) Change(_ context.Context, batch []*Group) error {
	z.log = append(z.log, "send "+subjects(batch))
	return z.change(subjects(batch))
}

// Verify implements Zone.
func (z *scripted) Verify(context.Context, []*Group) (State, error) { return z.state, z.verify }

// Refused implements Zone. The server names one group at most.
func (z *scripted) Refused(batch []*Group, err error) (rest []*Group, alone error) {
	if !errors.Is(err, provider.ErrRejected) {
		return nil, nil
	}
	for _, g := range batch {
		if g.Subject == z.blamed {
			g.Fail(provider.ErrStale)
		}
	}
	return Pending(batch), err
}

// Note implements Zone.
func (z *scripted) Note(batch []*Group, _ time.Time) { z.log = append(z.log, "note "+subjects(batch)) }

// Forget implements Zone.
func (z *scripted) Forget(g *Group) { z.log = append(z.log, "forget "+g.Subject) }

// TestApply shows what is sent and remembered, and the outcome of each group, after each answer of the server.
func TestApply(t *testing.T) {
	lost := errors.New("lost")
	refuses := func(err error, when string) func(string) error {
		return func(subjects string) error {
			if strings.Contains(subjects, when) {
				return err
			}
			return nil
		}
	}
	once := func(err error) func(string) error {
		return func(string) error {
			now := err
			err = nil
			return now
		}
	}
	for name, test := range map[string]struct {
		zone    scripted
		batches []string
		log     string
		want    []error
		// whole is the error of the call if the outcome isn't known by change.
		whole error
	}{
		"made":                {scripted{change: refuses(nil, "a")}, []string{"ab"}, "send ab; note ab", []error{nil, nil}, nil},
		"a name is blamed":    {scripted{change: refuses(provider.ErrRejected, "a"), blamed: "a"}, []string{"ab"}, "send ab; forget a; send b; note b", []error{provider.ErrStale, nil}, nil},
		"alone":               {scripted{change: refuses(provider.ErrRejected, "a")}, []string{"a", "b"}, "send a; send b; note b", []error{provider.ErrRejected, nil}, nil},
		"halved":              {scripted{change: refuses(provider.ErrRejected, "b")}, []string{"abc"}, "send abc; send a; note a; send bc; send b; send c; note c", []error{nil, provider.ErrRejected, nil}, nil},
		"throttled later":     {scripted{change: refuses(provider.ErrThrottled, "b")}, []string{"a", "b", "c"}, "send a; note a; send b", []error{nil, provider.ErrThrottled, provider.ErrThrottled}, nil},
		"throttled":           {scripted{change: refuses(provider.ErrThrottled, "a")}, []string{"a", "b"}, "send a", nil, provider.ErrThrottled},
		"zone gone":           {scripted{change: refuses(provider.ErrStale, "a")}, []string{"a", "b"}, "send a; outdate", []error{provider.ErrStale, provider.ErrStale}, nil},
		"lost, made":          {scripted{change: once(lost), state: Done}, []string{"a"}, "send a; note a", []error{nil}, nil},
		"lost, not made":      {scripted{change: once(lost), state: Undone}, []string{"a"}, "send a; send a; note a", []error{nil}, nil},
		"lost":                {scripted{change: once(lost)}, []string{"a", "b"}, "send a", nil, lost},
		"lost, can't be read": {scripted{change: once(lost), verify: provider.ErrThrottled}, []string{"a"}, "send a", nil, lost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all []*Group
				var batches [][]*Group
				for _, text := range test.batches {
					var batch []*Group
					for _, subject := range text {
						g := &Group{Subject: string(subject), Places: []int{len(all)}}
						all, batch = append(all, g), append(batch, g)
					}
					batches = append(batches, batch)
				}
				begun, z := time.Now(), &test.zone
				a := &Applying[*Group]{
					Zone: z, Outdate: func() { z.log = append(z.log, "outdate") }, Name: "shop.test", Server: "the server", Interval: time.Second,
				}
				err := a.Apply(t.Context(), all, batches, len(all))
				if got := strings.Join(z.log, "; "); got != test.log {
					t.Errorf("%s, want %s", got, test.log)
				}
				each, whole := provider.Outcomes(err, len(all))
				if test.whole != nil {
					if !errors.Is(whole, test.whole) || provider.NothingMade(whole) != provider.NothingMade(test.whole) {
						t.Errorf("the outcome is %v, want %v", err, test.whole)
					}
					return
				}
				if took := time.Since(begun); took != time.Duration(min(strings.Count(test.log, "send"), len(batches))-1)*time.Second {
					t.Errorf("%d batches take %v", len(batches), took)
				}
				for i, want := range test.want {
					if err != nil && !errors.Is(each[i], want) || err == nil && want != nil {
						t.Errorf("group %d: %v, want %v", i, err, want)
					}
				}
			})
		})
	}
}

package batch

import (
	"context"
	"errors"
	"fmt"
	"testing"
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

// Outdate implements Zone.
func (*picky) Outdate() {}

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

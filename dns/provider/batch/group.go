package batch

import (
	"context"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Group is the changes of one name and of its ownership records. They succeed or fail together.
type Group struct {
	// Subject is the name.
	Subject string
	Changes []dns.Change
	// Places are the indexes of the changes in the call of Apply.
	Places []int
	// Made is true once the changes were made.
	Made bool
	// Err says why the changes weren't made.
	Err error
}

// Grouped is a pointer to a [Group], or to a struct that embeds one.
type Grouped interface {
	group() *Group
}

func (g *Group) group() *Group { return g }

// Fail sets the error of a group, unless it has one.
func (g *Group) Fail(err error) {
	if g.Err == nil {
		g.Err = err
	}
}

// add adds a change with its index in the call of Apply.
func (g *Group) add(c dns.Change, place int) {
	g.Changes, g.Places = append(g.Changes, c), append(g.Places, place)
}

// FailAll sets the error of groups that have none.
func FailAll[G Grouped](groups []G, err error) {
	for _, g := range groups {
		g.group().Fail(err)
	}
}

// BySubject groups changes by their subjects, in the order of the first change of each.
func BySubject(changes []dns.Change) []*Group {
	bySubject := map[string]*Group{}
	var list []*Group
	for i, c := range changes {
		subject := c.Subject()
		g := bySubject[subject]
		if g == nil {
			g = &Group{Subject: subject}
			bySubject[subject], list = g, append(list, g)
		}
		g.add(c, i)
	}
	return list
}

// Split separates the record sets that can't be changed: refusal returns why a change is impossible, or nil. Each of
// them is in a group of its own that has failed, with its ownership records. The others are in the first group. If a
// CNAME replaces other types or is replaced by them, and a record set of the name stays, the whole group fails, because
// nothing can be beside a CNAME.
func (g *Group) Split(refusal func(c dns.Change) error) []*Group {
	rest := &Group{Subject: g.Subject}
	list := []*Group{rest}
	stays := false
	begin := 0
	for _, end := range g.ends() {
		part := rest
		for _, c := range g.Changes[begin:end] {
			if err := refusal(c); err != nil && part == rest {
				part = &Group{Subject: g.Subject, Err: err}
				list = append(list, part)
			}
		}
		if part != rest {
			stays = stays || slices.ContainsFunc(g.Changes[begin:end], g.replaces)
		}
		part.Changes = append(part.Changes, g.Changes[begin:end]...)
		part.Places = append(part.Places, g.Places[begin:end]...)
		begin = end
	}
	if stays && g.changesToOrFromCNAME() {
		g.Fail(list[1].Err)
		return []*Group{g}
	}
	return slices.DeleteFunc(list, func(part *Group) bool { return len(part.Changes) == 0 })
}

// ends returns where the changes of each record set and of its ownership records end. New ownership records are before
// a new record set, and all others behind it, as the registry orders them.
func (g *Group) ends() []int {
	isNew := func(i int, ownership bool) bool {
		return g.Changes[i].Old == nil && g.Changes[i].RecordSet().IsOwnershipRecord() == ownership
	}
	var ends []int
	for i, c := range g.Changes {
		if c.RecordSet().IsOwnershipRecord() {
			continue
		}
		at := i
		for at > 0 && isNew(i, false) && isNew(at-1, true) {
			at--
		}
		if at > 0 {
			ends = append(ends, at)
		}
	}
	return append(ends, len(g.Changes))
}

// replaces reports whether a change of a record set replaces one: it has an old one, or one with the same set
// identifier is deleted.
func (g *Group) replaces(change dns.Change) bool {
	return !change.RecordSet().IsOwnershipRecord() && (change.Old != nil || slices.ContainsFunc(g.Changes, func(c dns.Change) bool {
		return c.New == nil && !c.Old.IsOwnershipRecord() && c.Old.SetIdentifier == change.New.SetIdentifier
	}))
}

// changesToOrFromCNAME reports whether a CNAME and another type are changed.
func (g *Group) changesToOrFromCNAME() bool {
	has := func(cname bool) bool {
		return slices.ContainsFunc(g.Changes, func(c dns.Change) bool {
			return !c.RecordSet().IsOwnershipRecord() && (c.RecordSet().Type == dns.TypeCNAME) == cname
		})
	}
	return has(true) && has(false)
}

// Pending returns the groups that are neither made nor failed.
func Pending[G Grouped](groups []G) []G {
	return slices.DeleteFunc(slices.Clone(groups), func(g G) bool { return g.group().Made || g.group().Err != nil })
}

// Errors returns the error of each of n changes.
func Errors[G Grouped](groups []G, n int) []error {
	errs := make([]error, n)
	for _, g := range groups {
		for _, place := range g.group().Places {
			errs[place] = g.group().Err
		}
	}
	return errs
}

// Outcome returns the error of Apply for the errors of its changes. If one error stopped all
// changes ([StopsAll]), Outcome returns that error. Otherwise it returns a [provider.ApplyError],
// or nil if no change failed.
func Outcome(errs []error) error {
	failed := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if failed < 0 {
		return nil
	}
	if first := errs[0]; StopsAll(first) && !slices.ContainsFunc(errs, func(err error) bool { return err != first }) {
		return first
	}
	return &provider.ApplyError{Errs: errs}
}

// StopsAll reports whether an error of one request means that no other request can succeed now: the
// errors of [provider.StopsAll], and the end of the context.
func StopsAll(err error) bool {
	return provider.StopsAll(err) || provider.IsAny(err, context.Canceled, context.DeadlineExceeded)
}

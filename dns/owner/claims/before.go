package claims

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Before implements [owner.Owner]. It writes the claims of created and updated record sets as
// intended. It refuses a creation if another owner has the claim, an update or deletion if the record
// set isn't ours, and any change whose claim the store refuses. If the store can't be written, it
// returns an error, and no change may be applied.
//
// For record sets that are taken over from TXT records, it returns the deletions of those records
// if that is configured.
func (o *Owner) Before(ctx context.Context, zone owner.Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	if err := o.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer o.end()
	if o.unsure {
		if err := o.load(ctx); err != nil {
			return nil, nil, err
		}
	}
	reasons := make([]string, len(changes))
	var next []*Claim
	var keys []dns.Key
	var places []int
	for i, c := range changes {
		if reasons[i] = o.objection(zone, c); reasons[i] == "" && c.New != nil {
			key := c.New.Key()
			next, keys, places = append(next, o.intended(key, c)), append(keys, key), append(places, i)
		}
	}
	was := o.remember(changes, reasons)
	for n, err := range o.write(ctx, next, keys) {
		switch {
		case errors.Is(err, ErrTaken), errors.Is(err, ErrRefused):
			reasons[places[n]] = err.Error()
			o.put(keys[n], was[keys[n]])
		case err != nil:
			return nil, nil, fmt.Errorf("claim %s %s: %w", keys[n].Type, keys[n].Name, err)
		}
	}
	owner.KeepReplaced(changes, reasons)
	apply, refused = o.divide(zone, changes, reasons)
	return apply, refused, nil
}

// intended returns the claim of the record set that a change creates or updates.
func (o *Owner) intended(key dns.Key, c dns.Change) *Claim {
	if c.Old == nil {
		o.zones.create(key)
	}
	next := o.claim(key).intend(c, o.labelsOf(c.New), o.ByTarget)
	if owner.LabelsOnly(c) {
		return next.confirm(c.New)
	}
	return next
}

// labelsOf returns the labels to store for a record set, with us as the owner.
func (o *Owner) labelsOf(r *dns.RecordSet) map[string]string {
	labels := maps.Clone(r.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, dns.LabelOwnedRecord)
	labels[dns.LabelOwner] = o.ID()
	return labels
}

// remember keeps the claims from before the changes. A record set to be created was missing in the
// last listing, so its claim isn't certain any more.
func (o *Owner) remember(changes []dns.Change, reasons []string) map[dns.Key]entry {
	was := map[dns.Key]entry{}
	for i, c := range changes {
		if reasons[i] != "" {
			continue
		}
		key := c.RecordSet().Key()
		was[key] = o.entries[key]
		if o.before[key] = o.entries[key].claim; c.Old == nil {
			o.before[key] = o.before[key].unconfirm()
		}
	}
	return was
}

// objection returns why a change is refused, as far as that is known without the store, or "".
func (o *Owner) objection(zone owner.Lookup, c dns.Change) string {
	for _, r := range []*dns.RecordSet{c.Old, c.New} {
		if r == nil {
			continue
		}
		if _, ownership := o.OwnershipRecord(r); ownership {
			return "it is an ownership record"
		}
	}
	if c.Old == nil {
		return ""
	}
	labels, _ := o.Labels(zone, c.Old)
	switch id := labels[dns.LabelOwner]; {
	case id == o.ID():
		return ""
	case id == "":
		return "it has no owner, so this program didn't create it"
	case c.New != nil && (id == o.OldID || o.TXT != nil && id == o.TXT.OldID()):
		return ""
	default:
		return fmt.Sprintf("it belongs to owner %q", id)
	}
}

// divide splits the changes into those for the provider and the refused ones.
func (o *Owner) divide(zone owner.Lookup, changes []dns.Change, reasons []string) (apply, refused []dns.Change) {
	for i, c := range changes {
		if reasons[i] != "" {
			refused = append(refused, c)
			o.Problems(owner.Refusal(c.RecordSet(), reasons[i]))
			continue
		}
		if !owner.LabelsOnly(c) {
			apply = append(apply, owner.Claim(c, o.ID()))
		}
		if o.RemoveTXT && o.TXT != nil && c.Old != nil {
			apply = append(apply, o.TXT.OwnershipDeletions(zone, c.Old)...)
		}
	}
	return apply, refused
}

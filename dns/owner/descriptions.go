package owner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signpostd/signpost/dns"
)

// DescriptionOptions are the flags of --registry=aws-sd, and of --registry=noop with the provider
// aws-sd.
type DescriptionOptions struct {
	// OwnerID is --txt-owner-id. If it is empty, there is no ownership: everything with a description
	// may be changed.
	OwnerID string
	// OldOwnerID is --migrate-from-txt-owner. Record sets of that owner, which may be empty, become
	// ours when they are updated.
	OldOwnerID string
	// Problems is called by Before with the reasons why record sets aren't changed. It must not block.
	// It may be nil.
	Problems func(dns.Problem)
}

// maxDescription is the maximum length of a description in Cloud Map, in characters.
const maxDescription = 1024

// Descriptions keeps ownership in the descriptions of AWS Cloud Map services, in the format of
// ExternalDNS (spec/dns.md §4.4). The provider lists the description of a service in the label
// [dns.LabelDescription] of each of its record sets, and writes it from that label. All record sets
// of a name are in one service, so they have one owner. All methods may be called from any
// goroutine.
type Descriptions struct {
	inZone
	id, oldID string
	problems  func(dns.Problem)
}

var _ Owner = (*Descriptions)(nil)

// NewDescriptions returns an owner that keeps descriptions. The error says which option is wrong.
func NewDescriptions(o DescriptionOptions) (*Descriptions, error) {
	if o.OwnerID != "" {
		if err := checkOwner(o.OwnerID); err != nil {
			return nil, err
		}
	}
	if n := utf8.RuneCountInString(FormatText(map[string]string{dns.LabelOwner: o.OwnerID})); n > maxDescription {
		return nil, fmt.Errorf("--txt-owner-id: too long: the description of a service at Cloud Map would have %d characters, and may have %d", n, maxDescription)
	}
	if o.OldOwnerID == o.OwnerID {
		o.OldOwnerID = ""
	}
	if o.Problems == nil {
		o.Problems = func(dns.Problem) {}
	}
	return &Descriptions{id: o.OwnerID, oldID: o.OldOwnerID, problems: o.Problems}, nil
}

// ID implements [Owner].
func (d *Descriptions) ID() string { return d.id }

// OwnershipRecord implements [Owner]. There are no ownership records. Without ownership, record
// sets without a description are hidden from the plan, because they would count as ours.
func (d *Descriptions) OwnershipRecord(r *dns.RecordSet) (describes []string, ownership bool) {
	return nil, d.id == "" && r.Labels[dns.LabelDescription] == ""
}

// Labels implements [Owner].
func (d *Descriptions) Labels(_ Lookup, r *dns.RecordSet) (labels map[string]string, rewrite bool) {
	labels, err := ParseText(r.Labels[dns.LabelDescription])
	if err != nil {
		return nil, false
	}
	return labels, false
}

// Before implements [Owner]. It gives all record sets of a name the same description. For unchanged
// sets it adds a change of the label only, so that a later listing agrees with the plan.
func (d *Descriptions) Before(_ context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	byName := map[string][]dns.Change{}
	var names []string
	for _, c := range changes {
		name := c.RecordSet().Key().Name
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], c)
	}
	for _, name := range names {
		some, others := d.name(zone(name), byName[name])
		apply, refused = append(apply, some...), append(refused, others...)
	}
	return apply, refused, nil
}

func (d *Descriptions) name(there []*dns.RecordSet, changes []dns.Change) (apply, refused []dns.Change) {
	if reason := d.objection(there, changes); reason != "" {
		for _, c := range changes {
			d.problems(Refusal(c.RecordSet(), reason))
		}
		return nil, changes
	}
	text := d.text(there, changes)
	touched := map[dns.Key]bool{}
	for _, c := range changes {
		touched[c.RecordSet().Key()] = true
		if c.New == nil {
			apply = append(apply, c)
			continue
		}
		c.New = describe(c.New, text)
		c = Claim(c, d.id)
		if !LabelsOnly(c) || c.Old.Labels[dns.LabelDescription] != text {
			apply = append(apply, c)
		}
	}
	for _, r := range there {
		if text != "" && !touched[r.Key()] && r.Labels[dns.LabelDescription] != text {
			apply = append(apply, dns.Change{Old: r, New: describe(r, text)})
		}
	}
	return apply, nil
}

func describe(r *dns.RecordSet, text string) *dns.RecordSet {
	r = r.Clone()
	r.Labels[dns.LabelDescription] = text
	return r
}

// objection returns why the record sets of a name must not be changed, or "".
func (d *Descriptions) objection(there []*dns.RecordSet, changes []dns.Change) string {
	gains := slices.ContainsFunc(changes, func(c dns.Change) bool { return c.New != nil })
	check := slices.Clone(there)
	for _, c := range changes {
		if c.Old != nil && !slices.ContainsFunc(there, func(r *dns.RecordSet) bool { return r.Key() == c.Old.Key() }) {
			check = append(check, c.Old)
		}
	}
	for _, r := range check {
		labels, _ := d.Labels(nil, r)
		id := labels[dns.LabelOwner]
		switch {
		case r.Labels[dns.LabelDescription] == "":
			return "its service at Cloud Map has no description, so this program didn't create it"
		case d.id == "" || id == d.id || id == d.oldID && id != "" && gains:
		case id == "":
			return "its service at Cloud Map has no owner in its description, so this program didn't create it"
		default:
			return fmt.Sprintf("its service at Cloud Map belongs to owner %q", id)
		}
	}
	return ""
}

// text returns the description of a name after some changes; empty keeps the current one. There is
// one label resource for all types: that of the first type (plan.Rules.OneLabel).
func (d *Descriptions) text(there []*dns.RecordSet, changes []dns.Change) string {
	var first *dns.RecordSet
	touched := map[dns.Key]bool{}
	for _, c := range changes {
		if touched[c.RecordSet().Key()] = true; c.New != nil && (first == nil || c.New.Type < first.Type) {
			first = c.New
		}
	}
	if first == nil {
		return ""
	}
	for _, r := range there {
		if labels, _ := d.Labels(nil, r); !touched[r.Key()] && r.Type < first.Type && labels[dns.LabelOwner] == d.id {
			return r.Labels[dns.LabelDescription]
		}
	}
	labels := maps.Clone(first.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, dns.LabelOwner)
	if d.id != "" {
		labels[dns.LabelOwner] = d.id
	}
	text := FormatText(labels)
	for utf8.RuneCountInString(text) > maxDescription {
		// The owner label is required. The others are for users.
		delete(labels, longest(labels))
		text = FormatText(labels)
	}
	return text
}

// longest returns the longest label except the owner.
func longest(labels map[string]string) string {
	size := func(key string) int { return len(key) + len(labels[key]) }
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(labels)), func(key string) bool { return key == dns.LabelOwner })
	return slices.MaxFunc(keys, func(a, b string) int {
		if n := size(a) - size(b); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
}

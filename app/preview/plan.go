package preview

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
)

// Plan is the output of `signpost plan`. The help of the command describes its JSON.
type Plan struct {
	Differs bool `json:"differs"`
	// Complete is false if objects or zones could not be read, so that the plan may lack changes.
	Complete bool      `json:"complete"`
	Zones    []Zone    `json:"zones"`
	Problems []Problem `json:"problems"`
	Errors   []string  `json:"errors"`
	// Warnings are annotations that are probably misspelled, with manifests only.
	Warnings []Unpublished `json:"warnings,omitempty"`
	// Incomplete is the number of objects in manifests that give no record, or not all. Unread are the
	// objects that no source reads.
	Incomplete int      `json:"lacking,omitempty"`
	Unread     []Unread `json:"unread,omitempty"`
	// Unpublished are the reasons why objects give no record, or not all; nil without --verbose.
	// MoreUnpublished is the number of further objects.
	Unpublished     []Unpublished `json:"unpublished,omitempty"`
	MoreUnpublished int           `json:"moreUnpublished,omitempty"`
}

// Zone has the changes of one zone.
type Zone struct {
	// Publisher is the name of the publisher in a config file; empty for that of flags.
	Publisher string `json:"publisher,omitempty"`
	// Zone is the name of the apex, and ID the provider's ID of the zone.
	Zone    string   `json:"zone"`
	ID      string   `json:"id"`
	Changes []Change `json:"changes"`
	Held    *Held    `json:"held,omitempty"`
	// Pending are names of the zone whose new address isn't known, with manifests only.
	Pending []Pending `json:"awaited,omitempty"`
	// NotOurs says which wanted records the zone has under another owner, and what to do.
	NotOurs []string `json:"notOurs,omitempty"`
}

// Unread is the number of objects of a kind that no source reads. Sources are the sources that
// could read them.
type Unread struct {
	Kind    string   `json:"kind"`
	Group   string   `json:"group,omitempty"`
	Count   int      `json:"count"`
	Sources []string `json:"sources,omitempty"`
}

// Held has the changes that the budget doesn't allow. --approve-plan=HASH approves them.
type Held struct {
	Hash      string   `json:"hash"`
	Deletions []Change `json:"deletions"`
	Updates   []Change `json:"updates,omitempty"`
}

// Change is a change of one record set. The Action is create, without Old; delete, without
// New; or update.
type Change struct {
	Action        string   `json:"action"`
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	SetIdentifier string   `json:"setIdentifier,omitempty"`
	Old           *Record  `json:"old,omitempty"`
	New           *Record  `json:"new,omitempty"`
	Objects       []Object `json:"objects"`
}

// Record is a record set with its owner. The TTL is in seconds; zero is the default of the
// provider.
type Record struct {
	Targets []string `json:"targets"`
	// AddressUnknown says that only a cluster knows a further target: the manifests have no status.
	AddressUnknown bool           `json:"addressUnknown,omitempty"`
	TTL            int64          `json:"ttl,omitempty"`
	Properties     []dns.Property `json:"properties,omitempty"`
	Owner          string         `json:"owner,omitempty"`
	Resource       string         `json:"resource,omitempty"`
}

// Object is an object that asks for a record set, and the source that read it.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Source    string `json:"source,omitempty"`
}

// Problem is a wanted record that is not published, or not yet, and the reason.
type Problem struct {
	// Publisher is that of [Zone].
	Publisher string   `json:"publisher,omitempty"`
	Zone      string   `json:"zone,omitempty"`
	Name      string   `json:"name,omitempty"`
	Reason    string   `json:"reason"`
	Objects   []Object `json:"objects"`
	// stays is true for a record that the zone keeps, because unread objects may ask for it.
	stays bool
}

// add adds the zones, notices and errors of a publisher; its name is empty for that of flags. err
// may join several errors.
func (p *Plan) add(name string, zones []publisher.ZonePlan, notices []publisher.Notice, err error) {
	var problems []Problem
	for _, z := range zones {
		changes, pending := withoutPending(z.Changes)
		held, more := withoutPending(z.HeldChanges)
		z.HeldChanges = held
		shown := Zone{Publisher: name, Zone: z.Zone.Name, ID: z.Zone.ID, Changes: changesOf(changes), Pending: append(pending, more...), NotOurs: z.NotOurs}
		if z.Held != "" && len(held) > 0 {
			shown.Held = heldOf(z)
		}
		p.Differs = p.Differs || len(shown.Changes) > 0 || shown.Held != nil
		p.Zones = append(p.Zones, shown)
		for _, w := range z.Waiting {
			problems = append(problems, Problem{Publisher: name, Zone: z.Zone.Name, Name: w.Name, Reason: w.Message, Objects: objectsAbout(notices, w.Name), stays: w.Reason == publisher.ReasonSource})
		}
	}
	for _, n := range notices {
		one := Problem{Publisher: name, Name: nameOf(n), Reason: n.Message, Objects: objectsOf(n.Objects)}
		if !slices.ContainsFunc(problems, one.repeats) {
			problems = append(problems, one)
		}
	}
	slices.SortFunc(problems, compareProblems)
	p.Problems = append(p.Problems, problems...)
	var errs []string
	for _, e := range settings.Leaves(err) {
		switch {
		case errors.Is(e, publisher.ErrHeld): // held changes are in the zones
		case name != "":
			errs = append(errs, "publisher "+name+": "+e.Error())
		default:
			errs = append(errs, e.Error())
		}
	}
	slices.Sort(errs)
	p.Errors = append(p.Errors, errs...)
}

func heldOf(z publisher.ZonePlan) *Held {
	var deletions, updates []dns.Change
	for _, c := range z.HeldChanges {
		if c.New == nil {
			deletions = append(deletions, c)
		} else {
			updates = append(updates, c)
		}
	}
	held := &Held{Hash: z.Held, Deletions: changesOf(deletions)}
	if len(updates) > 0 {
		held.Updates = changesOf(updates)
	}
	return held
}

// repeats reports whether p says the same as another problem.
func (p Problem) repeats(other Problem) bool {
	return p.Name == other.Name && p.Reason == other.Reason && (other.Zone != "" || slices.Equal(p.Objects, other.Objects))
}

func compareProblems(a, b Problem) int {
	byObject := func(x, y Object) int { return strings.Compare(x.String(), y.String()) }
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason), slices.CompareFunc(a.Objects, b.Objects, byObject))
}

func objectsAbout(notices []publisher.Notice, name string) []Object {
	var objects []dns.Object
	for _, n := range notices {
		if nameOf(n) == name {
			objects = append(objects, n.Objects...)
		}
	}
	return objectsOf(objects)
}

func changesOf(changes []dns.Change) []Change {
	list := []Change{}
	for _, c := range changes {
		r := c.RecordSet()
		action := "update"
		switch {
		case c.Old == nil:
			action = "create"
		case c.New == nil:
			action = "delete"
		}
		list = append(list, Change{
			Action: action, Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier,
			Old: recordOf(c.Old), New: recordOf(c.New), Objects: objectsOf(r.Objects),
		})
	}
	return list
}

func recordOf(r *dns.RecordSet) *Record {
	if r == nil {
		return nil
	}
	targets := append([]string{}, slices.Sorted(slices.Values(r.Targets))...)
	targets = slices.DeleteFunc(targets, func(t string) bool { return t == unknownAddress })
	return &Record{Targets: targets, AddressUnknown: hasUnknownAddress(r), TTL: max(r.TTL, 0), Properties: r.Properties, Owner: r.Labels[dns.LabelOwner], Resource: r.Labels[dns.LabelResource]}
}

func objectsOf(objects []dns.Object) []Object {
	list := []Object{}
	for _, o := range objects {
		shown := Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Source: o.Source}
		if o.Name != "" && !slices.Contains(list, shown) {
			list = append(list, shown)
		}
	}
	return list
}

package webhookserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// negotiate responds with the names that the provider can have: those in its zones, or for a
// provider without zones those that its filter selects. If the zones can't be listed, it fails,
// because clients cache the response for their lifetime.
func (s *Server) negotiate(ctx context.Context, _ io.Reader) (any, error) {
	zones, err := s.config.Provider.Zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones: %w", err)
	}
	if len(zones) == 0 {
		return nil, errors.New("list the zones: the provider has none: create one, or change the zone filters")
	}
	names := make([]string, 0, 2*len(zones))
	for _, z := range zones {
		if z.Name == "" {
			return s.filter(ctx), nil
		}
		names = append(names, z.Name, "."+z.Name)
	}
	return dns.NewDomainFilter(names, nil), nil
}

// filter returns the filter of the provider, if it has a JSON form.
func (s *Server) filter(ctx context.Context) any {
	if f, ok := s.config.Provider.(provider.DomainFilterer); ok {
		if m, ok := f.DomainFilter(ctx).(json.Marshaler); ok {
			return m
		}
	}
	return dns.NewDomainFilter(nil, nil)
}

// list responds with the record sets of all zones.
func (s *Server) list(ctx context.Context, _ io.Reader) (any, error) {
	zones, err := s.config.Provider.Zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones: %w", err)
	}
	all := []*dns.RecordSet{}
	for _, z := range zones {
		sets, err := s.config.Provider.Records(ctx, z)
		if err != nil {
			return nil, fmt.Errorf("list the records of zone %q: %w", z.Name, err)
		}
		all = append(all, sets...)
	}
	return s.theirs(all), nil
}

// adjust responds with what the provider would store for record sets.
func (s *Server) adjust(ctx context.Context, body io.Reader) (any, error) {
	var wanted []*dns.RecordSet
	if err := decode(body, &wanted); err != nil {
		return nil, err
	}
	if i := slices.Index(wanted, nil); i >= 0 {
		return nil, requestError{err: fmt.Errorf("decode the request: record set %d is null", i)}
	}
	for _, r := range wanted {
		s.toOurs(r)
	}
	a, ok := s.config.Provider.(provider.Adjuster)
	if !ok || len(wanted) == 0 {
		// The JSON of a nil slice would be null.
		return s.theirs(append([]*dns.RecordSet{}, wanted...)), nil
	}
	zones, err := s.config.Provider.Zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones: %w", err)
	}
	adjusted, err := adjustIn(ctx, a, zones, wanted)
	return s.theirs(adjusted), err
}

// toOurs renames the properties of a received record set to the names that providers know.
func (s *Server) toOurs(r *dns.RecordSet) {
	if r != nil {
		r.Properties = s.config.Declared.Ours(r.Properties, s.config.Prefixes)
	}
}

// theirs returns record sets with the property names that clients know.
func (s *Server) theirs(sets []*dns.RecordSet) []*dns.RecordSet {
	if len(s.config.Prefixes) == 0 {
		return sets
	}
	for i, r := range sets {
		if properties := s.config.Declared.Theirs(r.Properties, s.config.Prefixes[0]); !slices.Equal(properties, r.Properties) {
			named := *r
			named.Properties = properties
			sets[i] = &named
		}
	}
	return sets
}

// adjustIn adjusts record sets, each in its zone. The protocol has one response for all of them, so
// the error names the refused ones. A client isolates them by smaller requests. A record set
// without a zone stays unchanged.
func adjustIn(ctx context.Context, a provider.Adjuster, zones []dns.Zone, wanted []*dns.RecordSet) ([]*dns.RecordSet, error) {
	finder := dns.NewZoneFinder(zones)
	byZone := map[dns.Zone][]*dns.RecordSet{}
	adjusted := []*dns.RecordSet{}
	for _, r := range wanted {
		if z, ok := finder.Find(r.Name); ok {
			byZone[z] = append(byZone[z], r)
		} else {
			adjusted = append(adjusted, r)
		}
	}
	var errs []error
	for _, z := range zones {
		if len(byZone[z]) == 0 {
			continue
		}
		responses, err := a.Adjust(ctx, z, byZone[z])
		if err != nil {
			return nil, fmt.Errorf("adjust %d record sets in zone %q: %w", len(byZone[z]), z.Name, err)
		}
		for i, response := range responses {
			if response.Err != nil {
				errs = append(errs, fmt.Errorf("adjust %s %s: %w", byZone[z][i].Name, byZone[z][i].Type, response.Err))
			}
			adjusted = append(adjusted, response.Sets...)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return adjusted, nil
}

// apply makes changes, separately for each zone.
func (s *Server) apply(ctx context.Context, body io.Reader) (any, error) {
	var lists dns.ChangeLists
	if err := decode(body, &lists); err != nil {
		return nil, err
	}
	changes, err := readChanges(lists)
	if err != nil {
		return nil, requestError{err: err}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	for _, c := range changes {
		s.toOurs(c.Old)
		s.toOurs(c.New)
	}
	zones, err := s.config.Provider.Zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones: %w", err)
	}
	return nil, s.route(ctx, zones, changes)
}

// readChanges returns the changes of lists. An update whose halves have different keys becomes a
// deletion and a creation.
func readChanges(lists dns.ChangeLists) ([]dns.Change, error) {
	listed, err := lists.Changes()
	if err != nil {
		return nil, err
	}
	var gone, changes []dns.Change
	for _, c := range listed {
		if c.Old != nil && c.New != nil && c.Old.Key() != c.New.Key() {
			gone = append(gone, dns.Change{Old: c.Old})
			c.Old = nil
		}
		changes = append(changes, c)
	}
	return append(gone, changes...), nil
}

// route applies the changes of each zone. A failure in one zone doesn't affect the others.
func (s *Server) route(ctx context.Context, zones []dns.Zone, changes []dns.Change) error {
	finder := dns.NewZoneFinder(zones)
	byZone := map[dns.Zone][]dns.Change{}
	var errs []error
	for _, c := range changes {
		found := finder.FindAll(c.RecordSet().Name)
		if len(found) == 0 {
			errs = append(errs, fmt.Errorf("change %s: the name is in no zone of the provider", c.RecordSet().Name))
		}
		// A public and a private zone with the same name both get the change.
		for _, z := range found {
			byZone[z] = append(byZone[z], c)
		}
	}
	begun := s.batchesApplied
	for _, z := range zones {
		errs = append(errs, s.applyIn(ctx, z, byZone[z]))
	}
	err := errors.Join(errs...)
	if err != nil && s.batchesApplied != begun {
		// The error must not be one that means that nothing was made.
		return errors.New(err.Error())
	}
	return err
}

// applyIn applies the changes of a zone in batches of the provider's size.
func (s *Server) applyIn(ctx context.Context, z dns.Zone, changes []dns.Change) error {
	c := s.config.Provider.Capabilities()
	var errs []error
	for _, batch := range batches(changes, c.BatchSize) {
		if err := pause.For(ctx, time.Until(s.applied.Add(c.BatchInterval))); err != nil {
			return errors.Join(append(errs, fmt.Errorf("wait before the next changes in zone %q: %w", z.Name, err))...)
		}
		err := s.config.Provider.Apply(ctx, z, batch)
		if err != nil {
			errs = append(errs, fmt.Errorf("make %d changes in zone %q: %w", len(batch), z.Name, err))
		}
		if _, some := errors.AsType[*provider.ApplyError](err); err == nil || some || !errors.Is(err, provider.ErrThrottled) {
			s.batchesApplied++
		}
		s.applied = time.Now()
	}
	return errors.Join(errs...)
}

// batches splits changes into lists of at most size changes; zero means no limit. Changes that
// belong together stay together, even if they are more.
func batches(changes []dns.Change, size int) [][]dns.Change {
	if len(changes) == 0 {
		return nil
	}
	if size <= 0 || len(changes) <= size {
		return [][]dns.Change{changes}
	}
	var all [][]dns.Change
	var batch []dns.Change
	for _, places := range provider.Together(changes) {
		if len(batch) > 0 && len(batch)+len(places) > size {
			all, batch = append(all, batch), nil
		}
		for _, i := range places {
			batch = append(batch, changes[i])
		}
	}
	return append(all, batch)
}

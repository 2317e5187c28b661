package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const (
	// maxRequests limits the requests of one Adjust. Finding one record set among n takes 2·log₂(n).
	maxRequests = 64
	// fewSets is up to how many record sets are blamed themselves if a program fails for each of them.
	fewSets = 8
)

// Adjust implements provider.Adjuster. The protocol has one response for a whole list, so the list
// is halved until the record set is isolated that the program refuses, or fails for. It is halved between
// namespaces first, so that the refused record sets of one namespace don't use up the requests for all.
//
// Ownership records are left out. ExternalDNS sends them to programs only when they are applied, so
// a program may not expect them here, and each request takes time.
func (p *remote) Adjust(ctx context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	results := make([]provider.Adjusted, len(wanted))
	var places []int
	for i, r := range wanted {
		if r.IsOwnershipRecord() {
			results[i].Sets = []*dns.RecordSet{r}
			continue
		}
		places = append(places, i)
	}
	if len(places) == 0 {
		return results, nil
	}
	slices.SortStableFunc(places, func(i, j int) int { return strings.Compare(namespaceOf(wanted[i]), namespaceOf(wanted[j])) })
	asked := make([]*dns.RecordSet, len(places))
	for n, i := range places {
		asked[n] = wanted[i]
	}
	s := search{adjust: p.adjust, left: maxRequests, results: make([]provider.Adjusted, len(asked))}
	if err := s.run(ctx, asked); err != nil {
		return nil, fmt.Errorf("have the webhook provider adjust %d record sets: %w", len(asked), err)
	}
	for n, i := range places {
		results[i] = s.results[n]
		results[i].Recheck = results[i].Err == nil && altered(asked[n], results[i].Sets)
	}
	return results, nil
}

// altered reports whether a program returns another key or other targets than the wanted ones. A
// program that was wrong, and is repaired, must be asked again for them.
func altered(wanted *dns.RecordSet, sets []*dns.RecordSet) bool {
	return len(sets) > 1 || len(sets) == 1 && (sets[0].Key() != wanted.Key() || !dns.SameTargets(sets[0].Targets, wanted.Targets))
}

// adjust sends a request for a list.
func (p *remote) adjust(ctx context.Context, wanted []*dns.RecordSet) (adjusted []*dns.RecordSet, err error) {
	l := p.budget.Part("the webhook provider's adjustments")
	defer l.End(nil)
	err = p.call(ctx, p.metrics.adjust, exchange{
		method: http.MethodPost, path: adjustPath, message: wanted, accepts: is(http.StatusOK), decode: recordSets(l, &adjusted),
	})
	if err != nil {
		return nil, err
	}
	return adjusted, nil
}

// search finds the record sets that a program refuses.
type search struct {
	adjust func(context.Context, []*dns.RecordSet) ([]*dns.RecordSet, error)
	// left is the number of requests that may still be sent.
	left    int
	results []provider.Adjusted
}

// part is a part of the wanted record sets, with the error of the list that it was in.
type part struct {
	first, end int
	err        error
}

// run finds the results. It returns an error that is about none of them.
func (s *search) run(ctx context.Context, wanted []*dns.RecordSet) error {
	var last error
	responded := false
	for queue := []part{{end: len(wanted)}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if s.left == 0 {
			s.refuse(at)
			continue
		}
		s.left--
		adjusted, err := s.adjust(ctx, wanted[at.first:at.end])
		switch {
		case err == nil:
			responded = true
			s.take(wanted[at.first:at.end], adjusted, s.results[at.first:at.end])
		case !concernsSets(err):
			return err
		case at.end-at.first == 1:
			last = err
			s.refuse(part{at.first, at.end, err})
		default:
			last = err
			middle := at.first + middleOf(wanted[at.first:at.end])
			queue = append(queue, part{at.first, middle, err}, part{middle, at.end, err})
		}
	}
	if !responded && len(wanted) > fewSets && !errors.Is(last, provider.ErrRejected) {
		return last
	}
	return nil
}

// namespaceOf returns the namespace of the first object that asks for a record set.
func namespaceOf(r *dns.RecordSet) string {
	if len(r.Objects) == 0 {
		return ""
	}
	return r.Objects[0].Namespace
}

// middleOf returns where to halve a list that is sorted by namespace: between two namespaces, as near
// to the middle as possible, or in the middle if there is one namespace only.
func middleOf(sets []*dns.RecordSet) int {
	half := len(sets) / 2
	for distance := range half + 1 {
		for _, at := range []int{half - distance, half + distance} {
			if 0 < at && at < len(sets) && namespaceOf(sets[at-1]) != namespaceOf(sets[at]) {
				return at
			}
		}
	}
	return half
}

// refuse gives a part its error.
func (s *search) refuse(at part) {
	err := at.err
	if n := at.end - at.first; n > 1 {
		err = fmt.Errorf("the webhook provider fails at one or more of %d record sets, which were not searched further: %w", n, err)
	}
	for i := at.first; i < at.end; i++ {
		s.results[i].Err = err
	}
}

// concernsSets reports whether an error may be about one of the record sets.
func concernsSets(err error) bool {
	if errors.Is(err, provider.ErrThrottled) || errors.Is(err, provider.ErrCredentials) {
		return false
	}
	var status *httpapi.StatusError
	return errors.Is(err, provider.ErrRejected) || errors.As(err, &status) && status.Status >= 500
}

// take assigns the adjusted record sets to the wanted ones. Those that match none are dropped.
func (s *search) take(wanted, adjusted []*dns.RecordSet, results []provider.Adjusted) {
	places := newPlaces(wanted)
	for _, r := range adjusted {
		if r == nil || normalize(r) != nil {
			// A name without a result would lose its record sets.
			for i, w := range wanted {
				if r == nil || dns.Canonical(w.Name) == dns.Canonical(r.Name) {
					results[i] = provider.Adjusted{Err: errors.New("the webhook provider has adjusted it to a record set without a name or without a type")}
				}
			}
			continue
		}
		i, ok := places.find(r)
		if !ok || results[i].Err != nil {
			continue
		}
		restore(r, wanted[i])
		results[i].Sets = append(results[i].Sets, r)
	}
}

// wantedIndex finds the wanted record set of an adjusted one: by key, by name and type, or by name. If
// several objects ask for one key with different content, their label decides. A program that drops
// labels has to keep the order.
type wantedIndex map[origin][]int

// origin is what an adjusted record set still has of the wanted one.
type origin struct {
	dns.Key
	resource string
	labelled bool
}

func newPlaces(wanted []*dns.RecordSet) wantedIndex {
	found := wantedIndex{}
	for i, r := range wanted {
		for _, o := range originsOf(r) {
			found[o] = append(found[o], i)
		}
	}
	return found
}

// originsOf returns what a record set may be found by, best first.
func originsOf(r *dns.RecordSet) []origin {
	key := r.Key()
	keys := []dns.Key{key, {Name: key.Name, Type: key.Type}, {Name: key.Name}}
	if key.SetIdentifier == "" {
		keys = keys[1:]
	}
	origins := make([]origin, 0, 2*len(keys))
	if resource, labelled := r.Labels[dns.LabelResource]; labelled {
		for _, k := range keys {
			origins = append(origins, origin{k, resource, true})
		}
	}
	for _, k := range keys {
		origins = append(origins, origin{Key: k})
	}
	return origins
}

func (p wantedIndex) find(r *dns.RecordSet) (int, bool) {
	for _, o := range originsOf(r) {
		list := p[o]
		if len(list) == 0 {
			continue
		}
		if len(list) > 1 && o.Type != "" {
			// The next one of this key belongs to the next record set.
			p[o] = list[1:]
		}
		return list[0], true
	}
	return 0, false
}

// restore adds to an adjusted record set what the protocol loses: the objects, which are not sent,
// and the labels if the provider doesn't return them.
func restore(r, from *dns.RecordSet) {
	r.Objects = slices.Clone(from.Objects)
	if r.Labels == nil {
		r.Labels = maps.Clone(from.Labels)
	}
}

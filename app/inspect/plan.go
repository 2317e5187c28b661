package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

// approveTimeout limits the response of a publisher, which stores an approval first.
const approveTimeout = 15 * time.Second

// maxAmbiguousPlans limits the plans in an error.
const maxAmbiguousPlans = 5

var planParameters = append([]string{"publisher"}, paged...)

// maxTargets limits the displayed targets of a record set.
const maxTargets = 50

// Publisher is a publisher whose plans are served.
type Publisher struct {
	// Name is empty for an unnamed publisher.
	Name string
	// Queue has its held plans.
	Queue ApprovalQueue
}

// ApprovalQueue has the methods of [budget.ApprovalQueue] that this package uses.
type ApprovalQueue interface {
	Plans() []budget.Plan
	Unplanned() (since time.Time, unplanned bool)
	Approve(ctx context.Context, hash string, except []string) (budget.Approval, error)
}

// Leadership reports whether this process leads. If not, leader is the leader, or empty if unknown.
type Leadership func() (leads bool, leader string)

// plans serves [PlanPath] and the paths below it. A process that doesn't lead has no plans.
func (s *Server) plans() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+PlanPath, jsonHandler(planParameters, listTime, s.listPlans))
	mux.Handle("GET "+PlanPath+"/{hash}", jsonHandler(planParameters, listTime, s.showPlan))
	mux.Handle("POST "+ApprovePath("{hash}"), jsonHandler(planParameters[:1], approveTimeout, s.approve))
	leadership := s.offered.planning.Leadership
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leadership == nil {
			refuse(w, s.lacking("plans", "dns"))
		} else if leads, leader := leadership(); !leads {
			refuse(w, &NotLeading{leader})
		} else {
			mux.ServeHTTP(w, r)
		}
	})
}

// held is a plan of a publisher.
type held struct {
	publisher string
	budget.Plan
}

// heldBy returns the plans of publishers, in a fixed order.
func heldBy(publishers []Publisher) []held {
	var all []held
	for _, publisher := range publishers {
		for _, plan := range publisher.Queue.Plans() {
			all = append(all, held{publisher.Name, plan})
		}
	}
	slices.SortFunc(all, func(a, b held) int {
		return cmp.Or(strings.Compare(a.publisher, b.publisher), strings.Compare(a.Zone.Name, b.Zone.Name), strings.Compare(a.Zone.ID, b.Zone.ID))
	})
	return all
}

// publishers returns the publishers of a request: that of its parameter "publisher", or all.
func (s *Server) publishers(q parameters) ([]Publisher, error) {
	if name, given := q.values["publisher"]; given {
		return publisherNamed(s.offered.planning.Publishers, name)
	}
	return s.offered.planning.Publishers, nil
}

func publisherNamed(all []Publisher, name string) ([]Publisher, error) {
	var names []string
	for i, one := range all {
		if one.Name == name {
			return all[i : i+1], nil
		}
		names = append(names, strconv.Quote(one.Name))
	}
	return nil, badRequest("there is no publisher %.60q: there is %s", name, strings.Join(names, ", "))
}

// unplanned returns the publishers that have not planned everything yet.
func unplanned(publishers []Publisher) []Unplanned {
	var all []Unplanned
	for _, publisher := range publishers {
		if since, yes := publisher.Queue.Unplanned(); yes {
			one := Unplanned{Publisher: publisher.Name}
			if !since.IsZero() {
				one.Since = &since
			}
			all = append(all, one)
		}
	}
	return all
}

func (s *Server) listPlans(_ *http.Request, q parameters) (any, error) {
	publishers, err := s.publishers(q)
	if err != nil {
		return nil, err
	}
	part, page := Window(heldBy(publishers), q.offset, q.limit)
	list := PlanList{Plans: []Plan{}, Total: page.Total, Next: page.Next, Unplanned: unplanned(publishers)}
	for _, h := range part {
		list.Plans = append(list.Plans, h.summary())
	}
	return list, nil
}

func (h held) summary() Plan {
	p := Plan{Publisher: h.publisher, Zone: h.Zone.Name, ZoneID: h.Zone.ID, Hash: h.Hash, At: h.At, Owned: h.Owned}
	p.Deletions, p.Updates = h.Count()
	if h.Spent.Limit > 0 {
		p.Spent, p.Limit = h.Spent.Changes, h.Spent.Limit
	}
	if room := h.Spent.AvailableAt; !room.IsZero() {
		p.Room = &room
	}
	return p
}

func (s *Server) showPlan(r *http.Request, q parameters) (any, error) {
	hash := r.PathValue("hash")
	publishers, err := s.publishers(q)
	if err != nil {
		return nil, err
	}
	found := planWithHash(heldBy(publishers), hash)
	switch {
	case len(found) > 1:
		return nil, refused(http.StatusUnprocessableEntity, ambiguous(found))
	case len(found) == 0 && len(unplanned(publishers)) > 0:
		return nil, refused(http.StatusServiceUnavailable, budget.ErrNotPlanned)
	case len(found) == 0:
		return nil, refused(http.StatusNotFound, fmt.Errorf("no plan with the hash %.20q is held now: GET %s lists the held plans", hash, PlanPath))
	}
	part, page := Window(found[0].Changes, q.offset, q.limit)
	plan := found[0].summary()
	plan.Next = page.Next
	for _, c := range part {
		plan.Changes = append(plan.Changes, changeOf(c))
	}
	return plan, nil
}

func withHash(all []held, hash string) []held {
	return slices.DeleteFunc(all, func(h held) bool { return h.Hash != hash })
}

// planWithHash returns the plans that have a hash. If there is none, it returns the remaining
// changes of earlier plans that had it, because these can be approved, too.
func planWithHash(all []held, hash string) []held {
	if now := withHash(slices.Clone(all), hash); len(now) > 0 {
		return now
	}
	var earlier []held
	for _, h := range all {
		if plan, ok := h.Remaining(hash); ok {
			earlier = append(earlier, held{h.publisher, plan})
		}
	}
	return earlier
}

// ambiguous is the error of a hash that several plans have.
func ambiguous(found []held) error {
	var whose []string
	for _, h := range found[:min(len(found), maxAmbiguousPlans)] {
		whose = append(whose, fmt.Sprintf("publisher %.60q of zone %.100q", h.publisher, h.Zone.Name))
	}
	return fmt.Errorf("%w: %s: name the publisher", budget.ErrAmbiguousPlan, strings.Join(whose, ", "))
}

func changeOf(c dns.Change) Change {
	r := c.RecordSet()
	shown := Change{Action: "delete", Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier, Targets: truncateTargets(c.Old.Targets)}
	if c.New != nil {
		shown.Action, shown.NewTargets = "update", truncateTargets(c.New.Targets)
	}
	return shown
}

// truncateTargets returns the first targets, and a note with the number of others.
func truncateTargets(targets []string) []string {
	if len(targets) <= maxTargets {
		return targets
	}
	return append(slices.Clone(targets[:maxTargets]), fmt.Sprintf("… (%d in all)", len(targets)))
}

func (s *Server) approve(r *http.Request, q parameters) (any, error) {
	hash := r.PathValue("hash")
	if !ValidHash(hash) {
		return nil, badRequest("the hash is %.20q: must be 16 digits or letters from a to f", hash)
	}
	publishers, err := s.publishers(q)
	if err != nil {
		return nil, err
	}
	except, err := exceptions(r)
	if err != nil {
		return nil, err
	}
	if found := withHash(heldBy(publishers), hash); len(found) > 1 {
		return nil, refused(http.StatusUnprocessableEntity, ambiguous(found))
	}
	notPlanned := false
	for _, publisher := range publishers {
		a, err := publisher.Queue.Approve(r.Context(), hash, except)
		switch {
		case errors.Is(err, budget.ErrUnknownPlan):
			continue
		case errors.Is(err, budget.ErrNotPlanned):
			notPlanned = true
			continue
		case errors.Is(err, budget.ErrNotLeading):
			leads, leader := s.offered.planning.Leadership()
			if leads {
				// The process has the Lease, and waits for its sources.
				notPlanned = true
				continue
			}
			return nil, &NotLeading{leader}
		case errors.Is(err, budget.ErrNothingLeft), errors.Is(err, budget.ErrNotInPlan), errors.Is(err, budget.ErrPlanChanged), errors.Is(err, budget.ErrAmbiguousPlan):
			return nil, refused(http.StatusUnprocessableEntity, err)
		case err != nil:
			return nil, refused(http.StatusServiceUnavailable, err)
		}
		return Approval{
			Publisher: publisher.Name, Zone: a.Zone.Name, Hash: hash, Deletions: a.Deletions, Updates: a.Updates, Excepted: a.Excepted, Gone: a.Gone, Until: a.Until,
		}, nil
	}
	if notPlanned {
		return nil, refused(http.StatusServiceUnavailable, budget.ErrNotPlanned)
	}
	if all := heldBy(publishers); len(all) > 0 {
		return nil, refused(http.StatusNotFound, fmt.Errorf("%w: held are %d, such as %s of zone %s", budget.ErrUnknownPlan, len(all), all[0].Hash, all[0].Zone.Name))
	}
	return nil, refused(http.StatusNotFound, fmt.Errorf("%w: nothing is held now", budget.ErrUnknownPlan))
}

// exceptions returns the names in the body of an approval. The content type is required, because a
// form of a web page can't have it.
func exceptions(r *http.Request) ([]string, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, refused(http.StatusUnsupportedMediaType, errors.New("Content-Type must be application/json"))
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	var request ApproveRequest
	err := d.Decode(&request)
	if err == nil {
		if _, after := d.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return nil, refused(http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes", large.Limit))
	}
	if err != nil {
		return nil, badRequest(`the body must be an object such as {"except": []}: %v`, err)
	}
	if len(request.Except) > MaxExcept {
		return nil, refused(http.StatusRequestEntityTooLarge, fmt.Errorf("%d names are excepted: at most %d can be", len(request.Except), MaxExcept))
	}
	for _, name := range request.Except {
		if len(name) > dns.MaxName+1 {
			return nil, badRequest("the name %.50q… is too long", name)
		}
	}
	return request.Except, nil
}

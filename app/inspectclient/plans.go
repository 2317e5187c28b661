package inspectclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Plans returns the held plans of the leaders, for one publisher or, if its name is empty, for all.
func (c *Client) Plans(ctx context.Context, publisher string) (output.Result, error) {
	leaders, err := c.leaders(ctx)
	if err != nil {
		return output.Result{}, err
	}
	all := plansOf(leaders, publisher)
	list := inspect.PlanList{Plans: []inspect.Plan{}, Total: len(all)}
	for _, p := range all {
		list.Plans = append(list.Plans, p.value)
	}
	for _, l := range leaders {
		for _, u := range l.value.unplanned {
			if publisher == "" || u.Publisher == publisher {
				list.Unplanned = append(list.Unplanned, u)
			}
		}
	}
	a := output.List(list, list.Plans, "HASH|ZONE|PUBLISHER|DELETIONS|UPDATES|OWNED|AGE", func(p inspect.Plan) (string, []string) {
		return "plan/" + p.Hash, []string{p.Hash, zoneName(p.Zone), p.Publisher, strconv.Itoa(p.Deletions), strconv.Itoa(p.Updates), strconv.Itoa(p.Owned), age(p.At, time.Now())}
	})
	a.Text = "Nothing is held.\n"
	if len(list.Plans) > 0 {
		a.Text = "\nShow the changes with --show and the hash, and have them made with the hash alone.\n"
	} else if len(list.Unplanned) > 0 {
		a.Text = ""
	}
	for _, u := range list.Unplanned {
		a.Text += unplannedText(u, time.Now())
	}
	return a, nil
}

// unplannedText says that a publisher's held plans aren't known yet.
func unplannedText(u inspect.Unplanned, now time.Time) string {
	whose := "the publisher"
	if u.Publisher != "" {
		whose = fmt.Sprintf("the publisher %q", u.Publisher)
	}
	if u.Since == nil {
		return fmt.Sprintf("Not planned yet: %s has just begun to lead. Ask again in some seconds.\n", whose)
	}
	return fmt.Sprintf("Not planned yet: %s has led for %s, and has not compared all zones with the wanted records yet. Try again in some seconds.\n",
		whose, max(0, now.Sub(*u.Since)).Round(time.Second))
}

// zoneName returns the name of a zone for display; "." for the zone without a name.
func zoneName(zone string) string { return cmp.Or(zone, ".") }

// held has the held plans of a process. standby is the response of a process that doesn't lead.
type held struct {
	plans     []inspect.Plan
	unplanned []inspect.Unplanned
	standby   error
}

// plansOf returns the plans of a publisher, or of all if its name is empty.
func plansOf(leaders []from[held], publisher string) []from[inspect.Plan] {
	var all []from[inspect.Plan]
	for _, l := range leaders {
		for _, p := range l.value.plans {
			if publisher == "" || p.Publisher == publisher {
				all = append(all, from[inspect.Plan]{l.member, p})
			}
		}
	}
	return all
}

// leaders returns the leaders and their held plans. It fails if there is no leader.
func (c *Client) leaders(ctx context.Context) ([]from[held], error) {
	const what = "what is held"
	responses, err := queryWithRole(c, c.unqueried(), what, func(m *member) (held, error) {
		var unplanned []inspect.Unplanned
		plans, err := list(ctx, c, m, inspect.PlanPath, nil, func(l inspect.PlanList) ([]inspect.Plan, inspect.Page) {
			unplanned = l.Unplanned
			return l.Plans, inspect.Page{Total: l.Total, Next: l.Next}
		})
		if isRefusal(err, http.StatusConflict) || isRefusal(err, http.StatusNotFound) {
			return held{standby: err}, nil
		}
		return held{plans: plans, unplanned: unplanned}, err
	})
	if err != nil {
		return nil, err
	}
	var leaders []from[held]
	var standbys []error
	for _, a := range responses {
		if a.value.standby != nil {
			standbys = append(standbys, fmt.Errorf("%s: ask for %s: %w", a.name(), what, a.value.standby))
			continue
		}
		leaders = append(leaders, a)
	}
	if len(leaders) == 0 {
		return nil, errors.Join(standbys...)
	}
	return leaders, nil
}

// Plan returns the changes of a plan. publisher is only needed if several plans have the hash.
func (c *Client) Plan(ctx context.Context, hash, publisher string) (output.Result, error) {
	holder, err := c.holder(ctx, hash, publisher)
	if err != nil {
		return output.Result{}, err
	}
	plan := holder.value
	plan.Next = 0
	path := inspect.PlanPath + "/" + hash
	plan.Changes, err = list(ctx, c, holder.member, path, queryOf("publisher", publisher), func(p inspect.Plan) ([]inspect.Change, inspect.Page) {
		return p.Changes, inspect.Page{Next: p.Next}
	})
	if err != nil {
		return output.Result{}, fmt.Errorf("%s: ask for the plan %s: %w", holder.name(), hash, err)
	}
	a := output.List(plan, plan.Changes, "ACTION|NAME|TYPE|TARGETS|NEW TARGETS|SET+", func(ch inspect.Change) (string, []string) {
		return "record/" + zoneName(plan.Zone) + "/" + ch.Name + "/" + ch.Type, []string{ch.Action, ch.Name, ch.Type, firstTexts(ch.Targets), firstTexts(ch.NewTargets), ch.SetIdentifier}
	})
	a.Text = fmt.Sprintf("\nHeld in the zone %s%s: deletions %d, updates %d. Nothing was approved.\n", output.Clean(zoneName(plan.Zone)), ofPublisher(plan.Publisher), plan.Deletions, plan.Updates)
	return a, nil
}

// holder returns the only leader that holds a plan. A leader may also know plans that it no longer lists,
// because plans with more names have replaced them. So if no leader lists the plan, each is asked for it.
func (c *Client) holder(ctx context.Context, hash, publisher string) (from[inspect.Plan], error) {
	leaders, err := c.leaders(ctx)
	if err != nil {
		return from[inspect.Plan]{}, err
	}
	listed := plansOf(leaders, publisher)
	holders := slices.DeleteFunc(slices.Clone(listed), func(p from[inspect.Plan]) bool { return p.value.Hash != hash })
	for _, l := range leaders {
		var plan inspect.Plan
		if len(holders) == 0 && c.call(ctx, l.Process, inspect.PlanPath+"/"+hash, queryOf("publisher", publisher), nil, &plan) == nil {
			holders = append(holders, from[inspect.Plan]{l.member, plan})
		}
	}
	switch len(holders) {
	case 0:
		return from[inspect.Plan]{}, notHeld(leaders, listed, hash, publisher)
	case 1:
		return holders[0], nil
	default:
		return from[inspect.Plan]{}, ambiguous(holders, hash)
	}
}

// notHeld returns the error for a plan that no leader holds.
func notHeld(leaders []from[held], listed []from[inspect.Plan], hash, publisher string) error {
	for _, l := range leaders {
		if len(l.value.unplanned) > 0 {
			return fmt.Errorf("no plan with the hash %s is held so far: %s has begun to lead, and has not planned everything yet: ask again in some seconds", hash, l.name())
		}
	}
	others := "nothing is held now"
	if len(listed) > 0 {
		others = "held are such as " + sanitize.List(listed, 3, func(p from[inspect.Plan]) string { return p.value.Hash })
	}
	return fmt.Errorf("no plan with the hash %s is held%s: %s", hash, ofPublisher(publisher), others)
}

func ambiguous(holders []from[inspect.Plan], hash string) error {
	var whose []string
	for _, h := range holders[:min(len(holders), 5)] {
		whose = append(whose, fmt.Sprintf("zone %s%s at %s", output.Clean(zoneName(h.value.Zone)), ofPublisher(h.value.Publisher), h.name()))
	}
	return fmt.Errorf("%d plans have the hash %s, so nothing was approved: %s: name the publisher with --publisher, or the process with --addr or --selector", len(holders), hash, strings.Join(whose, "; "))
}

// ofPublisher names a publisher, if it has a name.
func ofPublisher(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" of the publisher %q", name)
}

// Approve approves a plan at the process that holds it, except the changes of some names. If several plans
// have the hash, nothing is approved unless the publisher is named.
func (c *Client) Approve(ctx context.Context, hash, publisher string, except []string) (output.Result, error) {
	holder, err := c.holder(ctx, hash, publisher)
	if err != nil {
		return output.Result{}, fmt.Errorf("approve the plan %s: %w", hash, err)
	}
	approval, err := c.approve(ctx, holder.Process, hash, publisher, except)
	switch {
	case err == nil:
		return output.Result{Value: approval, Names: []string{"plan/" + hash}, Text: approvalText(approval)}, nil
	case asRefusal(err) == nil && !errors.Is(err, errNoToken):
		err = fmt.Errorf("%w: the plan may be approved already: check what is still held", err)
	}
	return output.Result{}, fmt.Errorf("approve the plan %s: %w", hash, err)
}

// errNoToken is the error of an approval that was not attempted.
var errNoToken = errors.New("no token for the approval")

// approve approves a plan at one process. A process in a pod gets a token that is valid for nothing
// else.
func (c *Client) approve(ctx context.Context, p portforward.Process, hash, publisher string, except []string) (approval inspect.Approval, err error) {
	var token string
	if p.Pod != nil {
		if token, err = c.token(ctx, p, inspect.ApproveAudience(hash)); err != nil {
			return approval, inPod(fmt.Errorf("%w: %w", errNoToken, err), p, hash)
		}
	}
	err = c.callWithToken(ctx, p, token, inspect.ApprovePath(hash), queryOf("publisher", publisher), inspect.ApproveRequest{Except: except}, &approval)
	if p.Pod != nil && (isRefusal(err, http.StatusForbidden) || isRefusal(err, http.StatusServiceUnavailable)) {
		err = inPod(err, p, hash)
	}
	return approval, err
}

// inPod adds the command that approves without a token to an error.
func inPod(err error, p portforward.Process, hash string) error {
	return fmt.Errorf("%w; without a token: kubectl exec -n %s %s -- signpost approve %s", err, p.Pod.Namespace, p.Pod.Name, hash)
}

// approvalText describes an approval. The name of a zone is untrusted.
func approvalText(a inspect.Approval) string {
	text := fmt.Sprintf("approved in the zone %s%s: deletions %d, updates %d\n", output.Clean(zoneName(a.Zone)), ofPublisher(a.Publisher), a.Deletions, a.Updates)
	if a.Excepted > 0 {
		text += fmt.Sprintf("left out, and still held under another hash: %d\n", a.Excepted)
	}
	if a.Gone > 0 {
		text += fmt.Sprintf("changes of the plan that are no longer held: %d\n", a.Gone)
	}
	return text + fmt.Sprintf("valid until %s for changes that can't be made at once\n", a.Until.UTC().Format(time.RFC3339))
}

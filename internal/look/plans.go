package look

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/output"
	"github.com/signpostd/signpost/internal/reach"
)

// Plans returns what is held, of the process that leads.
func (c *Client) Plans(ctx context.Context) (output.Answer, error) {
	all, err := c.plans(ctx)
	if err != nil {
		return output.Answer{}, err
	}
	list := inspect.PlanList{Plans: []inspect.Plan{}, Total: len(all)}
	for _, p := range all {
		list.Plans = append(list.Plans, p.value)
	}
	a := output.Answer{Value: list, Items: output.Items(list.Plans), Table: output.TableData{Columns: []output.Column{
		{Name: "HASH"}, {Name: "ZONE"}, {Name: "PUBLISHER"}, {Name: "DELETIONS"}, {Name: "UPDATES"}, {Name: "OWNED"}, {Name: "AGE"},
	}}}
	for _, p := range list.Plans {
		a.Names = append(a.Names, "plan/"+p.Hash)
		a.Table.Rows = append(a.Table.Rows, []string{p.Hash, zoneName(p.Zone), p.Publisher, strconv.Itoa(p.Deletions), strconv.Itoa(p.Updates), strconv.Itoa(p.Owned), age(p.At, time.Now())})
	}
	a.Text = "Nothing is held.\n"
	if len(list.Plans) > 0 {
		a.Text = "\nShow the changes with --show and the hash, and have them made with the hash alone.\n"
	}
	return a, nil
}

func zoneName(zone string) string {
	if zone == "" {
		return "."
	}
	return zone
}

// held is what a process holds. If it doesn't lead, standby says so.
type held struct {
	plans   []inspect.Plan
	standby error
}

// plans returns the plans of all processes that lead.
func (c *Client) plans(ctx context.Context) ([]from[inspect.Plan], error) {
	leaders, err := c.leaders(ctx)
	var all []from[inspect.Plan]
	for _, l := range leaders {
		for _, p := range l.value.plans {
			all = append(all, from[inspect.Plan]{l.member, p})
		}
	}
	return all, err
}

// leaders returns the processes that lead, and what they hold. That nobody does is an error.
func (c *Client) leaders(ctx context.Context) ([]from[held], error) {
	const question = "what is held"
	answers, err := askAll(c, c.unasked(), question, func(m *member) (held, error) {
		plans, err := list(ctx, c, m, inspect.PlanPath, nil, func(l inspect.PlanList) ([]inspect.Plan, inspect.Page) {
			return l.Plans, inspect.Page{Total: l.Total, Next: l.Next}
		})
		if isRefusal(err, http.StatusConflict) || isRefusal(err, http.StatusNotFound) {
			return held{standby: err}, nil
		}
		return held{plans: plans}, err
	})
	if err != nil {
		return nil, err
	}
	var leaders []from[held]
	var standbys []error
	for _, a := range answers {
		if a.value.standby != nil {
			standbys = append(standbys, fmt.Errorf("%s: ask for %s: %w", a.name(), question, a.value.standby))
			continue
		}
		leaders = append(leaders, a)
	}
	if len(leaders) == 0 {
		return nil, errors.Join(standbys...)
	}
	return leaders, nil
}

// unasked returns the processes as members, without having asked for their status.
func (c *Client) unasked() []member {
	members := make([]member, len(c.processes))
	for i, p := range c.processes {
		members[i].Process = p
	}
	return members
}

// Plan returns the changes of a plan.
func (c *Client) Plan(ctx context.Context, hash string) (output.Answer, error) {
	holder, err := c.holder(ctx, hash)
	if err != nil {
		return output.Answer{}, err
	}
	plan := holder.value
	plan.Next = 0
	path := inspect.PlanPath + "/" + hash
	plan.Changes, err = list(ctx, c, holder.member, path, nil, func(p inspect.Plan) ([]inspect.Change, inspect.Page) {
		return p.Changes, inspect.Page{Next: p.Next}
	})
	if err != nil {
		return output.Answer{}, fmt.Errorf("%s: ask for the plan %s: %w", holder.name(), hash, err)
	}
	a := output.Answer{Value: plan, Items: output.Items(plan.Changes), Table: output.TableData{Columns: []output.Column{
		{Name: "ACTION"}, {Name: "NAME"}, {Name: "TYPE"}, {Name: "TARGETS"}, {Name: "NEW TARGETS"}, {Name: "SET", Only: output.WideOnly},
	}}}
	for _, ch := range plan.Changes {
		a.Names = append(a.Names, "record/"+zoneName(plan.Zone)+"/"+ch.Name+"/"+ch.Type)
		a.Table.Rows = append(a.Table.Rows, []string{ch.Action, ch.Name, ch.Type, some(ch.Targets), some(ch.NewTargets), ch.SetIdentifier})
	}
	a.Text = fmt.Sprintf("\nHeld in the zone %s: deletions %d, updates %d. Nothing was approved.\n", output.Clean(zoneName(plan.Zone)), plan.Deletions, plan.Updates)
	return a, nil
}

// holder returns the process that holds a plan.
func (c *Client) holder(ctx context.Context, hash string) (from[inspect.Plan], error) {
	all, err := c.plans(ctx)
	if err != nil {
		return from[inspect.Plan]{}, err
	}
	var others []string
	for _, p := range all {
		if p.value.Hash == hash {
			return p, nil
		}
		if len(others) < 3 {
			others = append(others, p.value.Hash)
		}
	}
	if len(others) == 0 {
		return from[inspect.Plan]{}, fmt.Errorf("no plan with the hash %s is held: nothing is held now", hash)
	}
	return from[inspect.Plan]{}, fmt.Errorf("no plan with the hash %s is held: held are such as %s", hash, strings.Join(others, ", "))
}

// Approve has the process that holds a plan make its changes, without those of some names. A process
// may know plans that it no longer lists, because further names have joined them; so each one that
// leads is told, until one knows the plan.
func (c *Client) Approve(ctx context.Context, hash string, except []string) (output.Answer, error) {
	leaders, err := c.leaders(ctx)
	var approval inspect.Approval
	for _, l := range leaders {
		approval, err = c.approve(ctx, l.Process, hash, except)
		if err == nil {
			return output.Answer{Value: approval, Names: []string{"plan/" + hash}, Text: approvalText(approval)}, nil
		}
		if asRefusal(err) == nil && !errors.Is(err, errNoToken) {
			err = fmt.Errorf("%w: the plan may be approved: see what is held still", err)
		}
		if !isRefusal(err, http.StatusNotFound) {
			break
		}
	}
	return output.Answer{}, fmt.Errorf("approve the plan %s: %w", hash, err)
}

// errNoToken is the error of an approval that was not attempted.
var errNoToken = errors.New("no token for the approval")

// approve approves a plan at one process. A process in a pod gets a token that is good for nothing
// else.
func (c *Client) approve(ctx context.Context, p reach.Process, hash string, except []string) (approval inspect.Approval, err error) {
	var token string
	if p.Pod != nil {
		if token, err = c.token(ctx, p, inspect.ApproveAudience(hash)); err != nil {
			return approval, inPod(fmt.Errorf("%w: %w", errNoToken, err), p, hash)
		}
	}
	err = c.callWithToken(ctx, p, token, inspect.ApprovePath(hash), nil, inspect.ApproveRequest{Except: except}, &approval)
	if p.Pod != nil && (isRefusal(err, http.StatusForbidden) || isRefusal(err, http.StatusServiceUnavailable)) {
		err = inPod(err, p, hash)
	}
	return approval, err
}

// inPod adds to an error how to approve without a token.
func inPod(err error, p reach.Process, hash string) error {
	return fmt.Errorf("%w; without a token: kubectl exec -n %s %s -- signpost approve %s", err, p.Pod.Namespace, p.Pod.Name, hash)
}

// approvalText says what was approved. A zone may have any name.
func approvalText(a inspect.Approval) string {
	var where string
	if a.Publisher != "" {
		where = fmt.Sprintf(" of the publisher %q", a.Publisher)
	}
	text := fmt.Sprintf("approved in the zone %s%s: deletions %d, updates %d\n", output.Clean(zoneName(a.Zone)), where, a.Deletions, a.Updates)
	if a.Excepted > 0 {
		text += fmt.Sprintf("left out, and still held under another hash: %d\n", a.Excepted)
	}
	return text + fmt.Sprintf("good until %s for what can't be made at once\n", a.Until.UTC().Format(time.RFC3339))
}

package inspectclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/portforward"
)

// Roles, as in [inspect.Status].
const (
	destinationRole = "destination"
	xdsRole         = "xds"
	dnsRole         = "dns"
)

// maxPages limits the pages of a list that are read from one process.
const maxPages = 100

// member is a process with its status.
type member struct {
	portforward.Process
	status inspect.Status
}

// name returns the name of the pod, else the process' own name.
func (m *member) name() string {
	if m.Pod == nil && m.status.Process != "" {
		return m.status.Process
	}
	return m.Name
}

func (m *member) has(role string) bool { return slices.Contains(m.status.Roles, role) }

// leads reports whether the process leads a role. Without an election every process does.
func (m *member) leads(role string) bool {
	for _, l := range m.status.Leading {
		if l.Role == role {
			return l.Leads
		}
	}
	return true
}

// members queries the status of all processes. It fails if none responds.
func (c *Client) members(ctx context.Context) ([]member, error) {
	responses, err := queryAll(c, c.unqueried(), "the status", func(m *member) (s inspect.Status, err error) {
		err = c.call(ctx, m.Process, inspect.StatusPath, nil, nil, &s)
		return s, err
	})
	var all []member
	for _, a := range responses {
		all = append(all, member{a.Process, a.value})
	}
	return all, err
}

// unqueried returns the processes as members without their status.
func (c *Client) unqueried() []member {
	members := make([]member, len(c.processes))
	for i, p := range c.processes {
		members[i].Process = p
	}
	return members
}

// having returns the members with one of the roles. For the role dns only leaders are returned; if there is
// none, a note is written and all are returned.
func (c *Client) having(ctx context.Context, roles ...string) ([]member, error) {
	all, err := c.members(ctx)
	if err != nil || len(roles) == 0 {
		return all, err
	}
	all = slices.DeleteFunc(all, func(m member) bool { return !slices.ContainsFunc(roles, m.has) })
	if len(all) == 0 {
		return nil, fmt.Errorf("no process that was asked has the role %s: name another one with --selector or --addr", strings.Join(roles, " or "))
	}
	if slices.Contains(roles, dnsRole) {
		all = c.leading(all)
	}
	return all, nil
}

// leading returns the leaders of the role dns.
func (c *Client) leading(all []member) []member {
	leads := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return !m.leads(dnsRole) })
	if len(leads) == 0 {
		c.note("no reachable process leads the role dns now: this is the state of standbys")
		return all
	}
	return leads
}

// from is the result of one member.
type from[T any] struct {
	*member
	value T
}

// queryAll returns the responses of members, and writes notes about the failures of others. It
// fails if none responds.
func queryAll[T any](c *Client, members []member, what string, f func(*member) (T, error)) ([]from[T], error) {
	return query(c, members, what, f, func(error) bool { return true })
}

// queryWithRole is queryAll that writes no note about processes without the required role.
func queryWithRole[T any](c *Client, members []member, what string, f func(*member) (T, error)) ([]from[T], error) {
	return query(c, members, what, f, func(err error) bool { return !isRefusal(err, http.StatusNotFound) })
}

// query calls f for all members in parallel. It writes a note about a failure if noted returns true for it.
func query[T any](c *Client, members []member, what string, f func(*member) (T, error), noted func(error) bool) ([]from[T], error) {
	values, errs := make([]T, len(members)), make([]error, len(members))
	var group sync.WaitGroup
	for i := range members {
		group.Go(func() { values[i], errs[i] = f(&members[i]) })
	}
	group.Wait()
	var responses []from[T]
	var failed []error
	for i := range members {
		if errs[i] != nil {
			failed = append(failed, fmt.Errorf("%s: ask for %s: %w", members[i].name(), what, errs[i]))
			continue
		}
		responses = append(responses, from[T]{&members[i], values[i]})
	}
	if len(responses) == 0 {
		return nil, errors.Join(failed...)
	}
	for _, err := range failed {
		if noted(err) {
			c.note("%v", err)
		}
	}
	return responses, nil
}

// list reads all pages of a list of one process.
func list[L, T any](ctx context.Context, c *Client, m *member, path string, query url.Values, split func(L) ([]T, inspect.Page)) ([]T, error) {
	var all []T
	offset := 0
	for range maxPages {
		page := url.Values{"limit": {strconv.Itoa(inspect.PageSize)}, "offset": {strconv.Itoa(offset)}}
		maps.Copy(page, query)
		var listed L
		if err := c.call(ctx, m.Process, path, page, nil, &listed); err != nil {
			return nil, err
		}
		items, part := split(listed)
		all = append(all, items...)
		if part.Next <= offset {
			return all, nil
		}
		offset = part.Next
	}
	c.tooMany.Do(func() { c.note("only the first %d of a process are shown: narrow them down", len(all)) })
	return all, nil
}

// lists reads all pages of a list of each member.
func lists[L, T any](ctx context.Context, c *Client, roles []string, what, path string, query url.Values, split func(L) ([]T, inspect.Page)) ([]from[[]T], error) {
	members, err := c.having(ctx, roles...)
	if err != nil {
		return nil, err
	}
	return queryWithRole(c, members, what, func(m *member) ([]T, error) { return list(ctx, c, m, path, query, split) })
}

// Package inspecttest has fake processes for tests of clients of the inspection API: servers that
// return the values of the test.
//
// # Concurrency
//
// Requests are served concurrently. A Process must not be changed after it was started.
package inspecttest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/kube/linked"
)

// Process has the responses of a process. A nil value means 404.
type Process struct {
	Status   *inspect.Status
	Streams  []inspect.Stream
	Services []inspect.Service
	Records  []inspect.Record
	Zones    []inspect.Zone
	Problems []inspect.Problem
	Now      *inspect.Now
	Clusters []linked.Status
	// Plans are the held plans with their changes. If NotLeading is set, it is the response for plans
	// instead.
	Plans      []inspect.Plan
	NotLeading *inspect.Failure
	// Explain responds to ExplainPath.
	Explain func(query map[string][]string) *inspect.Explanation
	// Unplanned are the publishers whose plans are incomplete.
	Unplanned []inspect.Unplanned
	// Approved is called with each approval.
	Approved func(hash string, except []string)
	// Paths are further handlers, by path.
	Paths map[string]http.Handler
}

// Start runs the process until the test ends, and returns the address of its admin server.
func (p *Process) Start(t testing.TB) (addr string) {
	t.Helper()
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// ServeHTTP implements http.Handler.
func (p *Process) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	has := func(parameter, value string) bool {
		wanted := r.URL.Query().Get(parameter)
		return wanted == "" || slices.Contains(strings.Split(wanted, ","), value)
	}
	switch path := r.URL.Path; {
	case p.Paths[path] != nil:
		p.Paths[path].ServeHTTP(w, r)
	case path == inspect.StatusPath && p.Status != nil:
		reply(w, http.StatusOK, p.Status)
	case path == inspect.NowPath && p.Now != nil:
		reply(w, http.StatusOK, p.Now)
	case path == linked.StatusPath && p.Clusters != nil:
		reply(w, http.StatusOK, p.Clusters)
	case path == inspect.StreamsPath && p.Streams != nil:
		kept := keep(p.Streams, func(s inspect.Stream) bool {
			return has("service", s.Service) && has("state", string(s.State)) && has("node", s.Node) && has("pod", s.Namespace+"/"+s.Pod)
		})
		shown, page := paged(r, kept)
		reply(w, http.StatusOK, inspect.StreamList{Streams: shown, Page: page})
	case path == inspect.ServicesPath && p.Services != nil:
		shown, page := paged(r, keep(p.Services, func(s inspect.Service) bool { return has("namespace", s.Namespace) }))
		reply(w, http.StatusOK, inspect.ServiceList{Services: shown, Page: page})
	case path == inspect.RecordsPath && p.Records != nil:
		shown, page := paged(r, keep(p.Records, func(r inspect.Record) bool { return has("zone", r.Zone) && has("state", string(r.State)) }))
		reply(w, http.StatusOK, inspect.RecordList{Records: shown, Page: page})
	case path == inspect.ZonesPath && p.Zones != nil:
		shown, page := paged(r, p.Zones)
		reply(w, http.StatusOK, inspect.ZoneList{Zones: shown, Page: page})
	case path == inspect.ProblemsPath && p.Problems != nil:
		shown, page := paged(r, p.Problems)
		reply(w, http.StatusOK, inspect.ProblemList{Problems: shown, Page: page})
	case path == inspect.ExplainPath && p.Explain != nil:
		if e := p.Explain(r.URL.Query()); e != nil {
			reply(w, http.StatusOK, e)
			return
		}
		reply(w, http.StatusNotFound, inspect.Failure{Error: "nothing is known of that"})
	case strings.HasPrefix(path, inspect.PlanPath) && (p.Plans != nil || p.NotLeading != nil):
		p.plan(w, r)
	default:
		reply(w, http.StatusNotFound, inspect.Failure{Error: "this process doesn't have the role"})
	}
}

func (p *Process) plan(w http.ResponseWriter, r *http.Request) {
	if p.NotLeading != nil {
		reply(w, http.StatusConflict, p.NotLeading)
		return
	}
	hash, _, approve := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, inspect.PlanPath), "/"), "/")
	if hash == "" {
		list := inspect.PlanList{Total: len(p.Plans), Unplanned: p.Unplanned}
		for _, plan := range p.Plans {
			plan.Changes = nil
			list.Plans = append(list.Plans, plan)
		}
		reply(w, http.StatusOK, list)
		return
	}
	for _, plan := range p.Plans {
		switch {
		case plan.Hash != hash, r.URL.Query().Has("publisher") && r.URL.Query().Get("publisher") != plan.Publisher:
		case approve:
			var request inspect.ApproveRequest
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				reply(w, http.StatusBadRequest, inspect.Failure{Error: err.Error()})
				return
			}
			p.Approved(hash, request.Except)
			reply(w, http.StatusOK, inspect.Approval{Zone: plan.Zone, Hash: hash, Deletions: plan.Deletions, Excepted: len(request.Except), Until: plan.At})
			return
		default:
			var page inspect.Page
			plan.Changes, page = paged(r, plan.Changes)
			plan.Next = page.Next
			reply(w, http.StatusOK, plan)
			return
		}
	}
	reply(w, http.StatusNotFound, inspect.Failure{Error: "no such plan"})
}

func keep[T any](all []T, kept func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !kept(one) })
}

// paged returns the requested page of a list.
func paged[T any](r *http.Request, all []T) ([]T, inspect.Page) {
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if limit <= 0 || limit > inspect.PageSize {
		limit = inspect.PageSize
	}
	page := inspect.Page{Total: len(all)}
	from := min(offset, len(all))
	to := min(from+limit, len(all))
	if to < len(all) {
		page.Next = to
	}
	return all[from:to], page
}

func reply(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // the client sees a truncated response
}

package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/signpostd/signpost/internal/history"
)

// Config configures a [Server].
type Config struct {
	// Offers are those of the roles, in the order of their steps.
	Offers []Offer
	// Status returns the status without its counts. It is cheap.
	Status func() Status
	// Problems returns the parts of objects that can't be used, newest first; nil if there are none.
	Problems func() []Problem
	// Settings are those of the process as a config file in JSON, without secrets; nil for none.
	Settings json.RawMessage
	// ClusterDomain is the suffix of Services' names; empty means cluster.local.
	ClusterDomain string
	// Access authorises requests with a token; nil refuses them.
	Access Access
	// Replicas returns the pods of this installation, at most [MaxReplicas] of them, as the roles know
	// them; nil if no role reads pods. It is cheap.
	Replicas func() []Replica
	// History has the changes of the last hour; nil if none are kept.
	History *history.Log
	// Loopback says whether requests from this host need a token.
	Loopback Loopback
}

// Server serves the inspection API. [New] creates it.
type Server struct {
	config    Config
	offered   offered
	endpoints []endpoint
	// explaining is a semaphore for explanations.
	explaining chan struct{}
	hub        *hub
	finder     *finder
	recorder   recorder
}

// endpoint handles GET for a path.
type endpoint struct {
	path string
	// parameters are the allowed ones.
	parameters []string
	get        func(ctx context.Context, p parameters) (any, error)
}

const (
	// listTime limits a list, and explainTime an explanation, which may query other servers.
	listTime, explainTime = 10 * time.Second, 20 * time.Second
	// explainsAtATime limits the parallel explanations.
	explainsAtATime = 4
)

// New returns a server for the offers of the roles. Changes are sent while [Server.Run] runs.
func New(c Config) *Server {
	c.ClusterDomain = cmp.Or(c.ClusterDomain, "cluster.local")
	s := &Server{config: c, offered: offeredBy(c.Offers), explaining: make(chan struct{}, explainsAtATime)}
	s.finder = &finder{server: s, causes: cache.NewLRUExpireCache(2 * maxSubjects)}
	s.recorder.server = s
	s.hub = newHub(s.topics())
	s.endpoints = []endpoint{
		{StatusPath, nil, s.status},
		{NowPath, []string{"each", "known"}, s.now},
		{StreamsPath, append([]string{"service", "pod", "node", "state", "search"}, paged...), s.streams},
		{ServicesPath, append([]string{"namespace", "state", "search"}, paged...), s.services},
		{RecordsPath, append([]string{"publisher", "zone", "state", "search", "object"}, paged...), s.records},
		{ZonesPath, paged, s.zones},
		{ProblemsPath, append([]string{"search"}, paged...), s.problems},
		{ExplainPath, subjects, s.explain},
		{HistoryPath, append([]string{"since", "limit"}, subjects...), s.history},
		{FiguresPath, nil, s.figures},
		{ConfigPath, nil, s.settings},
	}
	return s
}

// Handlers returns the handlers of all paths, by pattern.
func (s *Server) Handlers() map[string]http.Handler {
	mux := http.NewServeMux()
	var paths []string
	for _, e := range s.endpoints {
		limit := listTime
		if e.path == ExplainPath {
			limit = explainTime
		}
		mux.Handle("GET "+e.path, jsonHandler(e.parameters, limit, func(r *http.Request, p parameters) (any, error) { return e.get(r.Context(), p) }))
		paths = append(paths, e.path)
	}
	paths = append(paths, PlanPath, ChangesPath)
	mux.Handle(PlanPath, s.plans())
	mux.Handle(PlanPath+"/", s.plans())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { notFound(w, r, paths) })
	lists := s.Guard(mux)
	return map[string]http.Handler{Root + "/": lists, Root: lists, ChangesPath: s.listenerGuard(s.changes)}
}

// Run sends changes to listeners and records the figures, until the context ends.
func (s *Server) Run(ctx context.Context) error {
	var recording sync.WaitGroup
	recording.Go(func() { s.recorder.run(ctx) })
	defer recording.Wait()
	return s.hub.run(ctx)
}

// notFound responds with the existing paths.
func notFound(w http.ResponseWriter, r *http.Request, paths []string) {
	if slices.Contains(paths, r.URL.Path) {
		w.Header().Set("Allow", http.MethodGet)
		reply(w, http.StatusMethodNotAllowed, Failure{Error: "only GET is allowed here"})
		return
	}
	reply(w, http.StatusNotFound, Failure{Error: "there is no such path: there are " + strings.Join(paths, ", ")})
}

// jsonHandler returns a handler that responds with the result of handle in JSON, or with its error.
// Only the allowed parameters may be given.
func jsonHandler(allowed []string, limit time.Duration, handle func(*http.Request, parameters) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		p, err := parseParameters(r.URL.RawQuery, allowed)
		var value any
		if err == nil {
			value, err = handle(r.WithContext(ctx), p)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		reply(w, http.StatusOK, value)
	})
}

// lacking is the error of a process without the required role.
func (s *Server) lacking(what, role string) error {
	var have []string
	for _, o := range s.config.Offers {
		if !slices.Contains(have, o.Role) {
			have = append(have, o.Role)
		}
	}
	running := "runs " + strings.Join(have, " and ")
	if len(have) == 0 {
		running = "runs no role"
	}
	return refused(http.StatusNotFound, fmt.Errorf("this process has no %s: the role %s has them, and this process %s", what, role, running))
}

// allStreams are the streams of several roles: each that serves gRPC has its own.
type allStreams []StreamsOf

// Streams implements [StreamsOf].
func (a allStreams) Streams() []Stream {
	var list []Stream
	for _, of := range a {
		list = append(list, of.Streams()...)
	}
	return list
}

// CountStreams implements [StreamsOf].
func (a allStreams) CountStreams() (open, behind int) {
	for _, of := range a {
		o, b := of.CountStreams()
		open, behind = open+o, behind+b
	}
	return open, behind
}

func (s *Server) streams(_ context.Context, p parameters) (any, error) {
	source := s.offered.streams
	if source == nil {
		return nil, s.lacking("streams", "destination")
	}
	f, err := newStreamFilter(p)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(source.Streams(), func(st Stream) bool { return !f.match(&st) })
	part, page := sortedWindow(all, f.compare, p.offset, p.limit)
	return StreamList{Streams: part, Page: page}, nil
}

func (s *Server) services(_ context.Context, p parameters) (any, error) {
	source := s.offered.serving.Services
	if source == nil {
		return nil, s.lacking("Services", "destination")
	}
	states, err := choices(p, "state", serviceStates)
	if err != nil {
		return nil, err
	}
	list := source.Services(ServiceFilter{Namespace: p.values["namespace"], Search: strings.ToLower(p.values["search"]), States: states, Offset: p.offset, Limit: p.limit})
	if list.Services == nil {
		list.Services = []Service{}
	}
	return list, nil
}

func (s *Server) records(ctx context.Context, p parameters) (any, error) {
	source := s.offered.records
	if source == nil {
		return nil, s.lacking("records", "dns")
	}
	f := RecordFilter{
		Publisher: p.values["publisher"], Zone: strings.ToLower(strings.TrimSuffix(p.values["zone"], ".")), Search: strings.ToLower(p.values["search"]),
		Offset: p.offset, Limit: p.limit,
	}
	var err error
	if f.Publisher != "" && s.offered.planning.Leadership != nil {
		if _, err = publisherNamed(s.offered.planning.Publishers, f.Publisher); err != nil {
			return nil, err
		}
	}
	states, err := choices(p, "state", RecordStates())
	if err != nil {
		return nil, err
	}
	for _, name := range states {
		f.States = append(f.States, RecordState(name))
	}
	if text := p.values["object"]; text != "" {
		if f.Object, err = parseObject("object", text); err != nil {
			return nil, err
		}
	}
	list, err := source.Records(ctx, f)
	if err != nil {
		return nil, err
	}
	if list.Records == nil {
		list.Records = []Record{}
	}
	return list, nil
}

func (s *Server) zones(ctx context.Context, p parameters) (any, error) {
	source := s.offered.zones
	if source == nil {
		return nil, s.lacking("zones", "dns")
	}
	all, err := source.Zones(ctx)
	if err != nil {
		return nil, err
	}
	part, page := Window(all, p.offset, p.limit)
	return ZoneList{Zones: append([]Zone{}, part...), Page: page}, nil
}

func (s *Server) problems(_ context.Context, p parameters) (any, error) {
	search := strings.ToLower(p.values["search"])
	all := slices.DeleteFunc(s.allProblems(), func(problem Problem) bool {
		return !contains(search, problem.Object.String(), problem.Object.Cluster, problem.Field, problem.Value, problem.Reason)
	})
	part, page := Window(all, p.offset, p.limit)
	return ProblemList{Problems: append([]Problem{}, part...), Page: page}, nil
}

func (s *Server) allProblems() []Problem {
	if s.config.Problems == nil {
		return nil
	}
	return s.config.Problems()
}

func (s *Server) settings(context.Context, parameters) (any, error) {
	if s.config.Settings == nil {
		return nil, refused(http.StatusNotFound, errors.New("the settings of this process aren't known: it was not started by `signpost run`, destination, controllers, dns or xds"))
	}
	return s.config.Settings, nil
}

func (s *Server) status(ctx context.Context, _ parameters) (any, error) { return s.Status(ctx), nil }

// Status returns the status with its counts. Counts that aren't known in time are left out.
func (s *Server) Status(ctx context.Context) Status {
	var status Status
	if s.config.Status != nil {
		status = s.config.Status()
	}
	status.Counts = s.counts(ctx)
	status.Replicas = s.replicas(&status)
	return status
}

func (s *Server) counts(ctx context.Context) Counts {
	var c Counts
	if source := s.offered.streams; source != nil {
		open, behind := source.CountStreams()
		c.Streams, c.StreamsBehind = &open, &behind
	}
	if source := s.offered.serving.Services; source != nil {
		c.Services = new(source.CountServices())
	}
	if source := s.offered.zones; source != nil {
		c.Records = countRecords(ctx, source)
	}
	if held, ok := s.heldPlans(); ok {
		c.HeldPlans = new(len(held))
	}
	if s.config.Problems != nil {
		c.Problems = new(len(s.allProblems()))
	}
	return c
}

// countRecords returns the counts of all zones together; nil if unknown.
func countRecords(ctx context.Context, source ZonesOf) map[RecordState]int {
	zones, err := source.Zones(ctx)
	if err != nil {
		return nil
	}
	all := map[RecordState]int{}
	for _, z := range zones {
		for state, n := range z.Records {
			all[state] += n
		}
	}
	return all
}

// heldPlans returns the held plans, if this process knows them.
func (s *Server) heldPlans() ([]held, bool) {
	if !s.plansHere() {
		return nil, false
	}
	return heldBy(s.offered.planning.Publishers), true
}

// plansHere reports whether this process has the role with plans, and leads.
func (s *Server) plansHere() bool {
	leadership := s.offered.planning.Leadership
	if leadership == nil {
		return false
	}
	leads, _ := leadership()
	return leads
}

// explain serves [ExplainPath].
func (s *Server) explain(ctx context.Context, p parameters) (any, error) {
	q, err := s.query(p)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.config.Offers, func(o Offer) bool { return o.Explains != nil }) {
		return nil, s.lacking("explanations", "destination or dns")
	}
	select {
	case s.explaining <- struct{}{}:
		defer func() { <-s.explaining }()
	case <-ctx.Done():
		return nil, errors.New("too many explanations at a time: try again")
	}
	return s.Explain(ctx, q), nil
}

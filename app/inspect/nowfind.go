package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/signpostd/signpost/internal/panics"
	"github.com/signpostd/signpost/kube"
)

const (
	// nowTTL is the minimum time for which a response of [NowPath] is cached. A search that takes
	// long is cached for nowFactor times its duration, so that searches take a tenth of the time at
	// most.
	nowTTL, nowFactor = time.Second, 10
	// causesTimeout limits the search for the causes of Services, which sends requests to the API
	// server.
	causesTimeout = 2 * time.Second
	// parallelCauses is how many Services are explained at once.
	parallelCauses = 8
	// causeTTL is how long the cause of a Service is current. An older one is shown until a search
	// has found the cause again, but not after maxCauseAge. maxEarlyAge is how old an early response
	// may be.
	causeTTL, maxCauseAge, maxEarlyAge = time.Minute, 10 * time.Minute, time.Minute
	// staleAfter is the staleness of a kind in seconds that is a problem. Gaps between two watches
	// are shorter.
	staleAfter = 5
)

// finder caches the last search for current problems.
type finder struct {
	server *Server

	// searching is locked while a search runs, so that several clients wait for one search.
	searching sync.Mutex

	mu sync.Mutex
	// last is the last complete search; nil before the first.
	last *search

	// causes has why Services have their states: values of [cause] by [causeKey].
	causes *cache.LRUExpireCache
}

// cause is why a Service has its state: the text is empty if the explanation found nothing wrong.
type cause struct {
	text string
	at   time.Time
}

// search is a search for current problems. One goroutine fills it; then it is immutable.
type search struct {
	server   *Server
	causes   *cache.LRUExpireCache
	findings []Finding
	// unknown lists the checks that failed.
	unknown  []string
	at       time.Time
	duration time.Duration
	// early skips the explanation of Services whose cause isn't cached.
	early bool
	// countedZones are the zones if each has its numbers of records, else nil.
	countedZones []Zone
}

// now serves [NowPath].
func (s *Server) now(ctx context.Context, p parameters) (any, error) {
	each, err := p.flag("each")
	if err != nil {
		return nil, err
	}
	known, err := p.flag("known")
	if err != nil {
		return nil, err
	}
	found := s.finder.find(ctx, known)
	var now Now
	if each {
		now = Now{Findings: append([]Finding{}, found.findings...), Checked: found.at}
		for _, f := range found.findings {
			now.Total += f.Count
		}
		now.bound(len(areas) * maxSubjects)
	} else {
		now = Summarize(found.findings, found.at)
	}
	now.Unknown = found.unknown
	return now, nil
}

// find returns the last search if it is recent, or searches. With early, an older search is enough;
// a new one does not wait for another search and explains no Service.
func (f *finder) find(ctx context.Context, early bool) *search {
	last, recent := f.recent()
	switch {
	case recent || early && last != nil && time.Since(last.at) < maxEarlyAge:
		return last
	case early:
		return f.search(ctx, true)
	}
	f.searching.Lock()
	defer f.searching.Unlock()
	if last, recent = f.recent(); recent {
		return last
	}
	// The search continues if the client leaves, because the next client gets its result.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime)
	defer cancel()
	found := f.search(ctx, false)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = found
	return found
}

// recent returns the last search, nil before the first, and whether it is recent enough for a
// response.
func (f *finder) recent() (*search, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.last != nil && time.Since(f.last.at) < max(nowTTL, nowFactor*f.last.duration)
}

// search runs all checks.
func (f *finder) search(ctx context.Context, early bool) *search {
	begun := time.Now()
	s := &search{server: f.server, causes: f.causes, early: early}
	for _, find := range []func(context.Context){s.process, s.zones, s.writes, s.services, s.streams, s.records, s.plans, s.problems} {
		find(ctx)
	}
	s.at, s.duration = time.Now(), time.Since(begun)
	return s
}

func (f *search) add(found Finding) {
	found.Count = cmp.Or(found.Count, 1)
	f.findings = append(f.findings, found)
}

// addOf adds a finding about a zone or record of a publisher. Two zones may have the same name,
// also of one publisher; the ID distinguishes them.
func (f *search) addOf(publisher, zoneID string, found Finding) {
	if publisher != "" {
		found.Subject += " of the publisher " + publisher
	}
	same := func(other Finding) bool { return other.Area == found.Area && other.Subject == found.Subject }
	if zoneID != "" && slices.ContainsFunc(f.findings, same) {
		found.Subject += " (" + zoneID + ")"
	}
	f.add(found)
}

// more adds a finding for the n subjects of an area beyond the limit. list is the command that
// lists all of them.
func (f *search) more(area Area, severity Severity, n int, what, list string) {
	if n > 0 {
		f.add(Finding{Area: area, Severity: severity, Subject: fmt.Sprintf("%d more %s", n, what), Count: n, Cause: "`" + list + "` lists them"})
	}
}

// process checks the process, its leader elections, its informer caches and the linked clusters.
func (f *search) process(context.Context) {
	if f.server.config.Status == nil {
		return
	}
	s := f.server.config.Status()
	before := len(f.findings)
	for _, l := range s.Leading {
		f.leader(l)
	}
	for _, t := range s.Tables {
		f.kind(t)
	}
	if !s.Ready && len(f.findings) == before {
		details := s.Details
		f.add(Finding{
			Area: AreaProcess, Severity: SeverityError, Subject: "process " + s.Process,
			Cause: cmp.Or(strings.Join(details[:min(len(details), 3)], "; "), "the process isn't ready, and doesn't say why"),
		})
	}
	f.clusters(s.Clusters)
}

// leader checks the leader election of a role. A standby of a known leader is ok.
func (f *search) leader(l Leading) {
	if len(l.Unled) > 0 {
		f.add(Finding{
			Area: AreaLeader, Severity: SeverityError, Subject: "role " + l.Role,
			Cause: fmt.Sprintf("nobody does the work of %s: the leader has other publishers, controllers or settings: give each installation a Lease of its own, or the same settings", strings.Join(l.Unled, ", ")),
		})
	}
	// Failing requests for the Lease (Trouble) are among the problems.
	if l.Trouble == "" && !l.Leads && l.Leader == "" {
		f.add(Finding{Area: AreaLeader, Severity: SeverityError, Subject: "role " + l.Role, Cause: "no process is known to lead by the Lease " + l.Lease + ": nobody writes until one does"})
	}
}

// kind checks the informer cache of a kind.
func (f *search) kind(t Table) {
	subject := "kind " + t.Kind
	if t.Group != "" {
		subject += "." + t.Group
	}
	severity := SeverityWarning
	if t.Required {
		severity = SeverityError
	}
	switch {
	case t.State == "synced" && t.StaleSeconds > staleAfter:
		f.add(Finding{Area: AreaKind, Severity: severity, Subject: subject, Cause: "changes of this kind may have been missed, because the API server doesn't answer: what was known last is served"})
	case !t.Required && !t.Source && t.Objects == 0 && kube.Reason(t.Reason) == kube.NotFound:
		// The cluster lacks an optional kind, such as ExternalWorkload in a cluster without Linkerd.
	case t.State != "synced" && (t.Required || t.Reason != ""):
		f.add(Finding{Area: AreaKind, Severity: severity, Subject: subject, Cause: kindCause(t)})
	}
}

// kindCause says why a kind can't be read. Kinds with the same reason are one finding.
func kindCause(t Table) string {
	reason := kube.Reason(t.Reason)
	if (reason == kube.Unreachable || reason == kube.DiscoveryForbidden) && t.Detail != "" {
		return t.Detail // a sentence about the API server
	}
	text := strings.TrimSpace("it can't be read: " + t.State + " " + t.Reason)
	if t.Detail != "" {
		text += ": " + t.Detail
	}
	if reason == kube.Forbidden {
		text += ": grant list and watch on it; `signpost check` names each missing right"
	}
	return text
}

// clusters checks whether linked clusters can be read.
func (f *search) clusters(linked []Cluster) {
	for _, c := range linked {
		if c.Reason == "" && (c.State == "synced" || c.State == "connecting") {
			continue
		}
		subject := "cluster " + c.Name
		if c.State == "unusable" {
			// Another version of the Secret, or another Secret, may be in force for the same cluster.
			subject = strings.TrimSuffix("Secret "+c.Secret+" of the cluster "+c.Name, " of the cluster ")
		}
		f.add(Finding{
			Area: AreaCluster, Severity: SeverityError, Subject: subject, Since: new(c.Since),
			Cause: cmp.Or(c.Reason, "it is "+c.State+": what was known last is served"),
		})
	}
}

// zones checks whether zones can be read and written.
func (f *search) zones(ctx context.Context) {
	source := f.server.offered.zones
	if source == nil || !f.leads() {
		return
	}
	zones, err := source.Zones(ctx)
	if err != nil {
		f.unknown = append(f.unknown, "the zones: "+err.Error())
		return
	}
	if !slices.ContainsFunc(zones, func(z Zone) bool { return z.Records == nil }) {
		f.countedZones = zones
	}
	for _, z := range zones {
		// Unzoned names are findings about records.
		if z.Problem != "" && z.Name != "" {
			f.addOf(z.Publisher, z.ID, Finding{Area: AreaZone, Severity: SeverityError, Subject: "zone " + z.Name, Cause: z.Problem})
		}
	}
}

// leads reports whether this process knows records and plans. Only the leader has them; the status
// of a standby names the leader.
func (f *search) leads() bool {
	return f.server.offered.planning.Leadership == nil || f.server.plansHere()
}

// writes checks for Services whose Endpoints or slices can't be written.
func (f *search) writes(context.Context) {
	source := f.server.offered.writes
	if source == nil {
		return
	}
	waits, all := source.Waits(maxSubjects)
	for _, w := range waits {
		f.add(Finding{
			Area: AreaWrite, Severity: SeverityError, Subject: "Service " + w.Namespace + "/" + w.Name, Explain: "Service/" + w.Namespace + "/" + w.Name,
			Cause: w.Reason, Since: new(w.Since),
		})
	}
	f.more(AreaWrite, SeverityError, all-len(waits), "Services whose Endpoints or slices can't be written", "signpost status")
}

// wrongServices are the states of Services that are problems.
var wrongServices = []ServiceState{ServiceUnserved, ServiceEmpty, ServicePartly}

// services checks for Services whose clients get no endpoint.
func (f *search) services(ctx context.Context) {
	source := f.server.offered.serving.Services
	if source == nil {
		return
	}
	list := source.Services(ServiceFilter{States: wrongServices, Limit: maxSubjects})
	more := list.Total - len(list.Services)
	list.Services = slices.DeleteFunc(list.Services, f.unwritten)
	causes := f.findCauses(ctx, list.Services)
	for i, s := range list.Services {
		if causes[i] == "" {
			continue
		}
		severity := SeverityError
		if s.State != ServiceUnserved && s.Streams == 0 {
			// No client has subscribed to the Service.
			severity = SeverityWarning
		}
		f.add(Finding{Area: AreaService, Severity: severity, Subject: "Service " + s.Namespace + "/" + s.Name, Explain: "Service/" + s.Namespace + "/" + s.Name, Cause: causes[i]})
	}
	f.more(AreaService, SeverityWarning, more, "Services", "signpost services")
}

func causeKey(s Service) string { return s.Namespace + "/" + s.Name + " " + string(s.State) }

// findCauses returns the causes of Services: those that are cached, and those that explanations find in
// time, several at once. Explanations that don't end in time are left to later searches.
func (f *search) findCauses(ctx context.Context, services []Service) []string {
	causes := make([]string, len(services))
	limited, cancel := context.WithTimeout(ctx, causesTimeout)
	defer cancel()
	inParallel(parallelCauses, len(services), func(i int) {
		s := services[i]
		cached, _ := f.causes.Get(causeKey(s))
		known, isKnown := cached.(cause)
		if !isKnown || time.Since(known.at) >= causeTTL {
			if text, found := f.causeOf(limited, s); found {
				known, isKnown = cause{text, time.Now()}, true
				f.causes.Add(causeKey(s), known, keepFor(known))
			}
		}
		if causes[i] = known.text; !isKnown {
			causes[i] = stateCause(s.State)
		}
	})
	return causes
}

// keepFor returns how long a cause is cached. Without a text it hides the Service, so it is not shown when
// it is old.
func keepFor(c cause) time.Duration {
	if c.text == "" {
		return causeTTL
	}
	return maxCauseAge
}

// inParallel calls f with the numbers below n, some at once. A panic of f continues in the caller.
func inParallel(limit, n int, f func(i int)) {
	var calls errgroup.Group
	calls.SetLimit(limit)
	panicked := make([]any, n)
	for i := range n {
		calls.Go(func() error {
			defer func() {
				if value := recover(); value != nil {
					panicked[i] = panics.Of(value)
				}
			}()
			f(i)
			return nil
		})
	}
	_ = calls.Wait() // no call returns an error
	for _, value := range panicked {
		if value != nil {
			panic(value)
		}
	}
}

// unwritten reports whether a finding says that the Endpoints or slices of a Service can't be written.
func (f *search) unwritten(s Service) bool {
	return slices.ContainsFunc(f.findings, func(n Finding) bool { return n.Area == AreaWrite && n.Explain == "Service/"+s.Namespace+"/"+s.Name })
}

// stateCause returns the cause of a Service whose explanation is unknown.
func stateCause(s ServiceState) string {
	switch s {
	case ServiceUnserved:
		return "there are ready endpoints, but clients get none: `signpost explain` says why"
	case ServicePartly:
		return "clients of some ports, zones or nodes get no endpoint: `signpost explain` says which"
	default:
		return "no endpoint is ready: `signpost explain` says why"
	}
}

// causeOf explains a Service and returns its first wrong step; empty if there is none. It returns false
// if the context has ended, a step is unknown, or the search explains nothing.
func (f *search) causeOf(ctx context.Context, s Service) (text string, found bool) {
	explains := f.server.offered.serving.Explains
	if explains == nil || f.early || ctx.Err() != nil {
		return "", false
	}
	steps := explains.Explain(ctx, Query{Service: &ServiceQuery{Namespace: s.Namespace, Name: s.Name}})
	// A wrong step after an unknown one may be a consequence.
	first := slices.IndexFunc(steps, func(s Step) bool { return s.State == StepWrong || s.State == StepUnknown })
	switch {
	case first >= 0 && steps[first].State == StepWrong:
		return steps[first].Text, true
	case first >= 0 || ctx.Err() != nil:
		return "", false
	}
	return "", true
}

// streams checks for clients that read slower than the server sends.
func (f *search) streams(context.Context) {
	source := f.server.offered.streams
	if source == nil {
		return
	}
	// Listing streams costs more than counting them.
	if _, behind := source.CountStreams(); behind == 0 {
		return
	}
	n := 0
	for _, s := range source.Streams() {
		if s.State != StreamBehind {
			continue
		}
		if n++; n > maxSubjects {
			continue
		}
		f.add(Finding{
			Area: AreaStream, Severity: SeverityError, Subject: "client " + clientOf(&s) + " of " + s.Target, Explain: explainService(s.Service),
			Cause: "the client reads slower than the server sends, so it has old endpoints: check its proxy and the CPU of its pod",
		})
	}
	f.more(AreaStream, SeverityError, n-maxSubjects, "clients", "signpost streams --behind")
}

func explainService(name string) string {
	if name == "" {
		return ""
	}
	return "Service/" + name
}

func clientOf(s *Stream) string {
	if s.Pod != "" {
		return s.Namespace + "/" + s.Pod
	}
	return cmp.Or(s.Peer, "unknown")
}

// records checks for records that aren't published. Held records are findings about plans.
func (f *search) records(ctx context.Context) {
	source := f.server.offered.records
	if source == nil || !f.leads() {
		return
	}
	// Listing visits every record, but each zone keeps the counts of its records.
	if f.countedZones != nil && !slices.ContainsFunc(f.countedZones, hasWrongRecords) {
		return
	}
	list, err := source.Records(ctx, RecordFilter{States: wrongRecords, Limit: maxSubjects})
	if err != nil {
		f.unknown = append(f.unknown, "the records: "+err.Error())
		return
	}
	for i := range list.Records {
		r := &list.Records[i]
		f.addOf(r.Publisher, r.ZoneID, Finding{
			Area: AreaRecord, Severity: SeverityError, Subject: "record " + r.Name + " " + r.Type, Explain: r.Name,
			Cause: cmp.Or(r.Message, "its state is "+string(r.State)),
		})
	}
	f.more(AreaRecord, SeverityError, list.Total-len(list.Records), "records", "signpost records --state failing,conflict,no-zone")
}

// wrongRecords are the states of records that are problems.
var wrongRecords = []RecordState{RecordFailing, RecordConflict, RecordNoZone}

func hasWrongRecords(z Zone) bool {
	return slices.ContainsFunc(wrongRecords, func(s RecordState) bool { return z.Records[s] > 0 })
}

// plans adds the changes that wait for approval.
func (f *search) plans(context.Context) {
	for _, p := range f.server.planSummaries() {
		f.addOf(p.Publisher, p.ZoneID, Finding{
			Area: AreaPlan, Severity: SeverityWarning, Subject: "zone " + cmp.Or(p.Zone, "."), Since: new(p.At),
			Cause: fmt.Sprintf("%d deletions and %d updates wait for approval%s: signpost approve %s", p.Deletions, p.Updates, spentText(p), p.Hash),
		})
	}
}

// spentText says how much of the deletion budget is used; empty for nothing.
func spentText(p Plan) string {
	if p.Spent == 0 {
		return ""
	}
	text := fmt.Sprintf(" (%d of at most %d deletions were made)", p.Spent, p.Limit)
	if p.Room != nil {
		text = strings.TrimSuffix(text, ")") + ", with room for these at " + p.Room.UTC().Format(time.TimeOnly) + " UTC)"
	}
	return text
}

// isLeaderless reports whether an object is a Lease for which requests fail, so that its leader is unknown.
func (f *search) isLeaderless(o ObjectRef) bool {
	return o.Kind == "Lease" && f.server.config.Status != nil && slices.ContainsFunc(f.server.config.Status().Leading, func(l Leading) bool {
		return l.Trouble != "" && !l.Leads && l.Leader == "" && l.Lease == o.Namespace+"/"+o.Name
	})
}

// problems adds the parts of objects that can't be used.
func (f *search) problems(context.Context) {
	all := f.server.allProblems()
	for _, p := range all[:min(len(all), maxSubjects)] {
		text := p.Reason
		if p.Field != "" && p.Object.Kind != "Publisher" {
			text = p.Field + ": " + text
		}
		severity := SeverityWarning
		if f.isLeaderless(p.Object) {
			severity, text = SeverityError, text+": no process is known to lead, and nobody writes until one does"
		}
		f.add(Finding{Area: AreaProblem, Severity: severity, Subject: p.Object.Title(), Explain: p.Object.String(), Cause: text, Since: new(p.Since)})
	}
	f.more(AreaProblem, SeverityWarning, len(all)-maxSubjects, "problems", "signpost problems")
}

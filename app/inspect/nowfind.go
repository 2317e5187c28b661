package inspect

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// nowFor is for how long an answer to [NowPath] is good at least. It is good for longer where
	// finding it out takes long, so that this takes at most a tenth of the time.
	nowFor, nowShare = time.Second, 10
	// causesTime is how long the causes of Services may be looked for, which takes requests to the API server.
	causesTime = 2 * time.Second
	// causeFor is for how long the cause of a Service is kept, and earlyFor how old an early answer may be.
	causeFor, earlyFor = time.Minute, time.Minute
	// staleAfter is after how many seconds changes that may have been missed are wrong. Gaps between
	// two watches are shorter.
	staleAfter = 5
)

// finder answers what is wrong now.
type finder struct {
	server *Server

	// searching is locked while a search runs, so that several clients wait for one search.
	searching sync.Mutex

	mu sync.Mutex
	// last is the last complete search; nil before the first.
	last *search
}

// search finds out what is wrong. One goroutine uses it; after that it doesn't change.
type search struct {
	server *Server
	found  []Finding
	// unknown is what couldn't be found out.
	unknown []string
	at      time.Time
	took    time.Duration
	// known are the causes of Services from the last search, and causes those of this one, by
	// NAMESPACE/NAME and state.
	known, causes map[string]cause
	// onlyKnown leaves out the explanation of Services whose cause isn't known.
	onlyKnown bool
	// counted are the zones if each has its numbers of records, else nil.
	counted []Zone
}

// cause is why a Service has a state. It is empty if the explanation finds nothing wrong.
type cause struct {
	text string
	at   time.Time
}

// now answers [NowPath].
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
		now = Now{Findings: append([]Finding{}, found.found...), Checked: found.at}
		for _, f := range found.found {
			now.Total += f.Count
		}
		now.bound(len(areas) * maxSubjects)
	} else {
		now = Summarize(found.found, found.at)
	}
	now.Unknown = found.unknown
	return now, nil
}

// find returns a search that is recent enough, or searches. With onlyKnown an older one is enough,
// and it waits for no other search and explains no Service.
func (f *finder) find(ctx context.Context, onlyKnown bool) *search {
	last, recent := f.recent()
	switch {
	case recent || onlyKnown && last != nil && time.Since(last.at) < earlyFor:
		return last
	case onlyKnown:
		return f.search(ctx, last, true)
	}
	f.searching.Lock()
	defer f.searching.Unlock()
	if last, recent = f.recent(); recent {
		return last
	}
	// Whether the client waits or not, the next one gets what was found.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime)
	defer cancel()
	found := f.search(ctx, last, false)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = found
	return found
}

// recent returns the last search, nil before the first, and whether it is recent enough for an answer.
func (f *finder) recent() (*search, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.last != nil && time.Since(f.last.at) < max(nowFor, nowShare*f.last.took)
}

// search finds out what is wrong, with the causes of the last search.
func (f *finder) search(ctx context.Context, last *search, onlyKnown bool) *search {
	begun := time.Now()
	s := &search{server: f.server, onlyKnown: onlyKnown, causes: map[string]cause{}}
	if last != nil {
		s.known = last.causes
	}
	for _, find := range []func(context.Context){s.process, s.zones, s.writes, s.services, s.streams, s.records, s.plans, s.problems} {
		find(ctx)
	}
	s.at, s.took = time.Now(), time.Since(begun)
	return s
}

func (f *search) add(found Finding) {
	found.Count = cmp.Or(found.Count, 1)
	f.found = append(f.found, found)
}

// addOf adds a finding about something of a publisher. Zones of several publishers, and several zones of one, may have
// one name. The ID tells such zones apart.
func (f *search) addOf(publisher, zoneID string, found Finding) {
	if publisher != "" {
		found.Subject += " of the publisher " + publisher
	}
	same := func(other Finding) bool { return other.Area == found.Area && other.Subject == found.Subject }
	if zoneID != "" && slices.ContainsFunc(f.found, same) {
		found.Subject += " (" + zoneID + ")"
	}
	f.add(found)
}

// more notes that there are more subjects of an area than were looked at.
func (f *search) more(area Area, severity Severity, n int, what, list string) {
	if n > 0 {
		f.add(Finding{Area: area, Severity: severity, Subject: fmt.Sprintf("%d more %s", n, what), Count: n, Cause: "`" + list + "` lists them"})
	}
}

// process finds what is wrong with the process, with who leads, with the kinds of objects that it
// reads, and with linked clusters.
func (f *search) process(context.Context) {
	if f.server.config.Status == nil {
		return
	}
	s := f.server.config.Status()
	before := len(f.found)
	for _, l := range s.Leading {
		f.leader(l)
	}
	for _, t := range s.Tables {
		f.kind(t)
	}
	if !s.Ready && len(f.found) == before {
		details := s.Details
		f.add(Finding{
			Area: AreaProcess, Severity: SeverityError, Subject: "process " + s.Process,
			Cause: cmp.Or(strings.Join(details[:min(len(details), 3)], "; "), "the process isn't ready, and doesn't say why"),
		})
	}
	f.clusters(s.Clusters)
}

// leader finds what is wrong with who leads a role. A standby of a known leader is as it should be.
func (f *search) leader(l Leading) {
	if len(l.Unled) > 0 {
		f.add(Finding{
			Area: AreaLeader, Severity: SeverityError, Subject: "role " + l.Role,
			Cause: fmt.Sprintf("nobody publishes for %s: the leader has other publishers or settings: give each installation a Lease of its own, or the same settings", strings.Join(l.Unled, ", ")),
		})
	}
	switch {
	case l.Trouble != "":
		// The problems have it.
	case !l.Leads && l.Leader == "":
		f.add(Finding{Area: AreaLeader, Severity: SeverityError, Subject: "role " + l.Role, Cause: "no process is known to lead by the Lease " + l.Lease + ": nobody writes until one does"})
	}
}

// kind finds what is wrong with reading a kind of objects.
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
	case t.State != "synced" && (t.Required || t.Reason != ""):
		f.add(Finding{Area: AreaKind, Severity: severity, Subject: subject, Cause: kindCause(t)})
	}
}

// kindCause says why a kind can't be read. Kinds that can't be read for one reason have one text:
// it has no path of a URL.
func kindCause(t Table) string {
	if server, failure, ok := cutURL(t.Detail); ok {
		return fmt.Sprintf("the API server %s can't be reached: %s", server, failure)
	}
	text := strings.TrimSpace("it can't be read: " + t.State + " " + t.Reason)
	if t.Detail != "" {
		text += ": " + t.Detail
	}
	return text
}

// cutURL splits the error of a request, such as `… Get "https://10.0.0.1/api/v1/pods?limit=500":
// dial tcp …`, into the server and what went wrong.
func cutURL(text string) (server, failure string, ok bool) {
	_, rest, found := strings.Cut(text, `Get "`)
	if !found {
		return "", "", false
	}
	address, failure, found := strings.Cut(rest, `": `)
	u, err := url.Parse(address)
	if !found || err != nil || u.Host == "" {
		return "", "", false
	}
	return u.Scheme + "://" + u.Host, failure, true
}

// clusters finds linked clusters that can't be read.
func (f *search) clusters(linked []Cluster) {
	for _, c := range linked {
		if c.Reason == "" && (c.State == "synced" || c.State == "connecting") {
			continue
		}
		f.add(Finding{
			Area: AreaCluster, Severity: SeverityError, Subject: "cluster " + cmp.Or(c.Name, "of the Secret "+c.Secret), Since: new(c.Since),
			Cause: cmp.Or(c.Reason, "it is "+c.State+": what was known last is served"),
		})
	}
}

// zones finds zones that can't be read or written.
func (f *search) zones(ctx context.Context) {
	source, ok := first(f.server, zonesOf)
	if !ok || !f.leads() {
		return
	}
	zones, err := source.Zones(ctx)
	if err != nil {
		f.unknown = append(f.unknown, "the zones: "+err.Error())
		return
	}
	if !slices.ContainsFunc(zones, func(z Zone) bool { return z.Records == nil }) {
		f.counted = zones
	}
	for _, z := range zones {
		// Names that are in no zone are found as records.
		if z.Problem != "" && z.Name != "" {
			f.addOf(z.Publisher, z.ID, Finding{Area: AreaZone, Severity: SeverityError, Subject: "zone " + z.Name, Cause: z.Problem})
		}
	}
}

// leads reports whether this process knows records and plans. A standby has none, and says who has
// in its status.
func (f *search) leads() bool {
	o, ok := f.server.plansOffer()
	if !ok {
		return true
	}
	leads, _ := o.Leadership()
	return leads
}

// writes finds Services whose Endpoints or slices can't be written.
func (f *search) writes(context.Context) {
	source, ok := first(f.server, func(o *Offer) WritesOf { return o.Writes })
	if !ok {
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

// wrongServices are the states of Services that are wrong.
var wrongServices = []ServiceState{ServiceUnserved, ServiceEmpty, ServicePartly}

// services finds Services of which clients are told no endpoint.
func (f *search) services(ctx context.Context) {
	source, ok := first(f.server, servicesOf)
	if !ok {
		return
	}
	list := source.Services(ServiceFilter{States: wrongServices, Limit: maxSubjects})
	limit, cancel := context.WithTimeout(ctx, causesTime)
	defer cancel()
	for _, s := range list.Services {
		key := s.Namespace + "/" + s.Name + " " + string(s.State)
		c, known := f.known[key]
		if !f.onlyKnown && (!known || time.Since(c.at) > causeFor) {
			c, known = f.causeOf(limit, s)
		}
		if !known {
			c = cause{text: stateCause(s.State)}
		}
		if !c.at.IsZero() {
			f.causes[key] = c
		}
		if c.text == "" {
			continue
		}
		severity := SeverityError
		if s.State != ServiceUnserved && s.Streams == 0 {
			// Nobody asks for it.
			severity = SeverityWarning
		}
		f.add(Finding{Area: AreaService, Severity: severity, Subject: "Service " + s.Namespace + "/" + s.Name, Explain: "Service/" + s.Namespace + "/" + s.Name, Cause: c.text})
	}
	f.more(AreaService, SeverityWarning, list.Total-len(list.Services), "Services", "signpost services")
}

// stateCause is the cause of a Service of which no more is known.
func stateCause(s ServiceState) string {
	switch s {
	case ServiceUnserved:
		return "there are ready endpoints, and clients are told of none: `signpost explain` says why"
	case ServicePartly:
		return "clients of some ports, or in some places, are told of no endpoint: `signpost explain` says of which"
	default:
		return "no endpoint is ready: `signpost explain` says why"
	}
}

// causeOf explains a Service: the first step that is wrong. It returns false if there was no time.
func (f *search) causeOf(ctx context.Context, s Service) (cause, bool) {
	i := slices.IndexFunc(f.server.config.Offers, func(o Offer) bool { return o.Services != nil && o.Explains != nil })
	if i < 0 || ctx.Err() != nil {
		return cause{}, false
	}
	steps := f.server.config.Offers[i].Explains.Explain(ctx, Query{Service: &ServiceQuery{Namespace: s.Namespace, Name: s.Name}})
	if step := firstStep(steps, StepWrong); step != nil {
		return cause{step.Text, time.Now()}, true
	}
	if firstStep(steps, StepUnknown) != nil || ctx.Err() != nil {
		return cause{}, false
	}
	return cause{at: time.Now()}, true
}

// streams finds clients that lag behind.
func (f *search) streams(context.Context) {
	source, ok := f.server.openStreams()
	if !ok {
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
			Cause: "the client doesn't read as fast as there is something to send, so that it has old endpoints: look at its proxy and at the CPU of its pod",
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

// clientOf names the client of a stream.
func clientOf(s *Stream) string {
	if s.Pod != "" {
		return s.Namespace + "/" + s.Pod
	}
	return cmp.Or(s.Peer, "unknown")
}

// records finds records that aren't published. Those that are held are found as plans.
func (f *search) records(ctx context.Context) {
	source, ok := first(f.server, recordsOf)
	if !ok || !f.leads() {
		return
	}
	// Listing records visits all of them, and zones keep their numbers.
	if f.counted != nil && !slices.ContainsFunc(f.counted, hasWrongRecords) {
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

// wrongRecords are the states of records that are wrong.
var wrongRecords = []RecordState{RecordFailing, RecordConflict, RecordNoZone}

func hasWrongRecords(z Zone) bool {
	return slices.ContainsFunc(wrongRecords, func(s RecordState) bool { return z.Records[s] > 0 })
}

// plans finds what waits for approval.
func (f *search) plans(context.Context) {
	for _, p := range f.server.planSummaries() {
		f.addOf(p.Publisher, p.ZoneID, Finding{
			Area: AreaPlan, Severity: SeverityWarning, Subject: "zone " + cmp.Or(p.Zone, "."), Since: new(p.At),
			Cause: fmt.Sprintf("%d deletions and %d updates wait for approval%s: signpost approve %s", p.Deletions, p.Updates, spentText(p), p.Hash),
		})
	}
}

// spentText says what was spent of the budget, if anything was.
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

// problems finds parts of objects that can't be used.
func (f *search) problems(context.Context) {
	all := f.server.allProblems()
	for _, p := range all[:min(len(all), maxSubjects)] {
		text := p.Reason
		if p.Field != "" && p.Object.Kind != "Publisher" {
			text = p.Field + ": " + text
		}
		f.add(Finding{Area: AreaProblem, Severity: SeverityWarning, Subject: p.Object.title(), Explain: p.Object.String(), Cause: text, Since: new(p.Since)})
	}
	f.more(AreaProblem, SeverityWarning, len(all)-maxSubjects, "problems", "signpost problems")
}

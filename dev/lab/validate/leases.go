package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// The Leases of `signpost run`, by their names (docs/config.md).
const (
	controllersLease = "signpost-controllers"
	workloadsLease   = "linkerd-destination-endpoint-write"
	dnsLease         = "signpost-dns"
)

// leaseTable says which Leases allow a write of a resource: holding one of them is enough. A resource that is mapped to
// nil is written without a Lease, and one that is missing isn't written by any role.
var leaseTable = map[string][]string{
	// Slices of ExternalWorkloads are written under the second Lease unless the controllers include that writer.
	"endpointslices": {controllersLease, workloadsLease},
	"endpoints":      {controllersLease},
	// Whoever publishes says in the status what became of the records.
	"dnsendpoints/status": {dnsLease},
	// What people have approved of deletions that were held back.
	"configmaps": {dnsLease},
	// This is how a replica asks for a Lease.
	"leases": nil,
	// An Event changes nothing that anybody acts on, and a replica that only stands by has something to say, too.
	"events": nil,
	// These are questions, although they are asked with a POST.
	"selfsubjectaccessreviews": nil,
	"subjectaccessreviews":     nil,
	"tokenreviews":             nil,
}

// updateLeases allow a write to a name server.
var updateLeases = []string{dnsLease}

// reordering is how much later a request may arrive than one on another connection that was sent after it: the machine
// of the lab is a busy one.
const reordering = 250 * time.Millisecond

// drain is how long after the end of a fault a link may still deliver what the fault has held back.
const drain = time.Second

// lateKinds are the faults of a link that hold requests back and deliver them later. While one of them is active, the
// clock of a Lease stands still for requests that take this link. Faults that lose requests (cut) or refuse them (429)
// don't delay what arrives. And there is nothing to forgive after a pause of the replica: a request that was sent
// before it has arrived, and one that is sent after it is the very lie that this validator is for.
var lateKinds = []string{"slow", "delay", "half-open", "provider-storm"}

// allReplicas is the first half of the name of a link that stands for those of all replicas.
const allReplicas = "all"

// The faults of a process and of a Lease that matter here.
const (
	killKind  = "kill"        // the replica is gone at once, and what it held means nothing for the one that is started next
	stealKind = "steal-lease" // somebody edits a held Lease, so that two replicas may hold it in good faith
	// restoreKind does the same to a Lease: the copy of etcd names a holder of before.
	restoreKind = "etcd-restore"
)

// fastestClock is how much faster than time the clock of a candidate may run, which sees a Lease run out that much earlier
// (faults.md row 13).
const fastestClock = 1.3

// outsideLease is V7.
func outsideLease() Validator {
	return Validator{
		Name: "V7",
		Rule: "Nobody writes outside its lease: each write of a role that leads arrives within the lease duration after its replica acquired or renewed the Lease, and before anybody else acquired it. Nobody acquires a Lease before that of another process ran out or was given up.",
		Check: func(h history.History) []Finding {
			if h.Setup.UnsafeClock {
				return nil // a candidate sees the Lease run out too early, whatever it does
			}
			c := &leaseCheck{duration: h.Setup.LeaseDuration, leases: map[string]*leaseBook{}, identity: map[string]string{}, links: linkFaults(h)}
			for _, e := range h.Entries {
				c.read(e)
			}
			return c.findings
		},
	}
}

// leaseCheck reads a history from its beginning to its end.
type leaseCheck struct {
	duration time.Duration
	leases   map[string]*leaseBook // by name
	identity map[string]string     // the replica that first named itself so in a Lease
	killed   map[string]time.Duration
	steals   []interval
	links    map[string][]interval // by link, in which a fault held requests back; in the order of time
	findings []Finding
}

// leaseBook is what the replicas did to a Lease.
type leaseBook struct {
	grants   map[string]time.Duration // when the last write arrived that may have given the Lease to the replica
	releases map[string]time.Duration // when the last one arrived that gave it up, if it came after the grant
	takes    map[string][]take        // that succeeded, in the order of arrival
	holder   string                   // the process that the Lease names; empty if it was given up
	renewed  time.Duration            // when the write arrived that made it so
}

// take is a write that acquired or renewed a Lease.
type take struct{ arrived, answered time.Duration }

// interval is a part of the run. Its end is larger than anything while it lasts.
type interval struct{ from, to time.Duration }

func (c *leaseCheck) read(e history.Entry) {
	switch {
	case e.Fault != nil && !e.Fault.Ended:
		switch e.Fault.Kind {
		case killKind:
			if c.killed == nil {
				c.killed = map[string]time.Duration{}
			}
			c.killed[e.Fault.Target] = e.At
		case stealKind:
			c.steals = append(c.steals, interval{e.At, e.At + c.duration})
		}
	case e.Fault != nil && (e.Fault.Kind == stealKind || e.Fault.Kind == restoreKind):
		// The holder is emptied again, or was another one in the copy, and everybody may take it at once.
		c.steals = append(c.steals, interval{e.At, e.At + c.duration})
	case e.Write == nil || e.Write.Replica == history.Person:
	case e.Write.Update != nil:
		what := "the update of " + strings.Join(firstFew(e.Write.Update.Names), ", ")
		c.demand(e, updateLeases, e.Write.Replica+" to the name server", what)
	case e.Write.Kubernetes != nil && e.Write.Kubernetes.Resource == "leases":
		c.lease(e.At, *e.Write)
	case e.Write.Kubernetes != nil:
		c.kubernetes(e)
	}
}

// kubernetes judges a write of anything but a Lease.
func (c *leaseCheck) kubernetes(e history.Entry) {
	k := e.Write.Kubernetes
	resource := k.Resource
	if k.Subresource != "" {
		resource += "/" + k.Subresource
	}
	what := fmt.Sprintf("the %s of %s %s/%s", k.Verb, resource, k.Namespace, k.Name)
	allowed, known := leaseTable[resource]
	if !known {
		c.object(e, e.Write.Replica, fmt.Sprintf("it has sent %s, and no role writes that.", what))
		return
	}
	if allowed != nil {
		c.demand(e, allowed, e.Write.Replica+" to kube-apiserver", what)
	}
}

// lease notes what a write does to a Lease.
func (c *leaseCheck) lease(at time.Duration, w history.Write) {
	k := w.Kubernetes
	if k.Verb == "delete" || !k.Reached {
		return
	}
	done := w.Status >= 200 && w.Status < 300
	// Without an answer, and after a failure of the server, the write may have been carried out.
	if !done && w.Status != -1 && w.Status < 500 {
		return
	}
	book := c.book(k.Name)
	if k.Holder == "" {
		book.releases[w.Replica] = at
		book.holder = ""
		return
	}
	if owner, known := c.identity[k.Holder]; known && owner != w.Replica {
		c.findings = append(c.findings, Finding{"V7", at, w.Replica, fmt.Sprintf("it takes Lease %s as %s, which is the name of %s: each process has to have its own.", k.Name, quoted(k.Holder), owner)})
		return
	}
	c.identity[k.Holder] = w.Replica
	book.grants[w.Replica] = at
	delete(book.releases, w.Replica)
	if done {
		c.early(book, at, w)
		book.takes[w.Replica] = append(book.takes[w.Replica], take{at, max(at, w.Answered)})
	}
}

// early objects to a process that acquires a Lease which another one still holds. A process sees a Lease run out that
// long after it has seen the last renewal, which it can't have seen before that arrived.
func (c *leaseCheck) early(book *leaseBook, at time.Duration, w history.Write) {
	k := w.Kubernetes
	age := at - book.renewed
	if book.holder != "" && book.holder != k.Holder && age < time.Duration(float64(c.duration)/fastestClock) && !c.stolen(at, at) {
		c.findings = append(c.findings, Finding{"V7", at, w.Replica, fmt.Sprintf("it acquires %s as %s, and %s has renewed it %s before: it lasts for %s.", k.Name, quoted(k.Holder), quoted(book.holder), age.Round(time.Millisecond), c.duration)})
	}
	book.holder, book.renewed = k.Holder, at
}

// stolen says whether somebody edited a Lease shortly before or during the time from one moment to another.
func (c *leaseCheck) stolen(from, to time.Duration) bool {
	return slices.ContainsFunc(c.steals, func(i interval) bool { return i.from <= to && from <= i.to })
}

func (c *leaseCheck) book(name string) *leaseBook {
	book := c.leases[name]
	if book == nil {
		book = &leaseBook{grants: map[string]time.Duration{}, releases: map[string]time.Duration{}, takes: map[string][]take{}}
		c.leases[name] = book
	}
	return book
}

// demand objects unless the replica of e may hold one of the Leases.
func (c *leaseCheck) demand(e history.Entry, leases []string, subject, what string) {
	var reasons []string
	for _, name := range leases {
		reason := c.outside(name, e)
		if reason == "" {
			return
		}
		reasons = append(reasons, reason)
	}
	c.object(e, subject, fmt.Sprintf("it has sent %s without a Lease for it: %s.", what, strings.Join(reasons, "; ")))
}

func (c *leaseCheck) object(e history.Entry, subject, message string) {
	c.findings = append(c.findings, Finding{"V7", e.At, subject, message})
}

// outside says why the replica of e can't hold a Lease when e arrives. It is empty if it may hold it.
func (c *leaseCheck) outside(name string, e history.Entry) string {
	book, replica := c.book(name), e.Write.Replica
	link := linkOf(e.Write)
	granted, ok := book.grants[replica]
	if !ok {
		return fmt.Sprintf("%s never acquired %s", replica, name)
	}
	if age := c.elapsed(link, granted, e.At); age >= c.duration {
		return fmt.Sprintf("%s has asked for %s %s before, and it lasts for %s", replica, name, age.Round(time.Millisecond), c.duration)
	}
	if killed, ok := c.killed[replica]; ok && killed > granted && c.elapsed(link, killed, e.At) > reordering {
		return fmt.Sprintf("%s was killed after it acquired %s, and the process that came after it hasn't acquired it", replica, name)
	}
	if released, ok := book.releases[replica]; ok && c.elapsed(link, released, e.At) > reordering {
		return fmt.Sprintf("%s has given %s up %s before", replica, name, (e.At - released).Round(time.Millisecond))
	}
	return c.supplanted(book, name, granted, link, e)
}

// supplanted says who has acquired the Lease since the replica of e did. A Lease that was stolen may have two holders
// until the former one hears of it.
func (c *leaseCheck) supplanted(book *leaseBook, name string, granted time.Duration, link string, e history.Entry) string {
	for other, takes := range book.takes {
		if other == e.Write.Replica {
			continue
		}
		for _, t := range slices.Backward(takes) {
			if t.arrived <= granted {
				break
			}
			if !c.stolen(t.arrived, t.answered) && t.answered < e.At && c.elapsed(link, t.answered, e.At) > reordering {
				return fmt.Sprintf("%s has acquired %s %s before, and %s hasn't since", other, name, (e.At - t.answered).Round(time.Millisecond), e.Write.Replica)
			}
		}
	}
	return ""
}

// elapsed returns the time between two moments in which no fault held back what takes the link.
func (c *leaseCheck) elapsed(link string, from, to time.Duration) time.Duration {
	out, covered := to-from, from
	for _, i := range c.heldBack(link) {
		begin, end := max(i.from, covered), min(i.to, to)
		if begin < end {
			out -= end - begin
			covered = end
		}
	}
	return out
}

// heldBack returns when faults held back what takes the link, in the order of time.
func (c *leaseCheck) heldBack(link string) []interval {
	_, server, _ := strings.Cut(link, " ")
	one, all := c.links[link], c.links[allReplicas+" "+server]
	if len(all) == 0 {
		return one
	}
	both := slices.Concat(one, all)
	slices.SortFunc(both, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	return both
}

// linkNames are the links on which a write arrives where it is recorded, by the server in the target of a fault. What is behind
// that place (kube-apiserver, behind) holds back nothing that hasn't arrived.
var linkNames = map[string]string{"kube-apiserver": "API", "bind": "DNS"}

// linkOf returns the link that a write takes: that of its replica to the API server or to the name server.
func linkOf(w *history.Write) string {
	if w.Update != nil {
		return w.Replica + " DNS"
	}
	return w.Replica + " API"
}

// linkFaults returns when faults held back what replicas sent, by link. The target of such a fault is REPLICA→SERVER.
func linkFaults(h history.History) map[string][]interval {
	const lasting = time.Duration(1<<63 - 1)
	out, open := map[string][]interval{}, map[int]*interval{}
	var links []string
	var all []*interval
	for _, e := range h.Entries {
		if e.Fault == nil || !slices.Contains(lateKinds, e.Fault.Kind) {
			continue
		}
		if i := open[e.Fault.ID]; e.Fault.Ended && i != nil {
			i.to = e.At + drain
			delete(open, e.Fault.ID)
			continue
		}
		replica, server, isLink := strings.Cut(e.Fault.Target, "→")
		link, known := linkNames[server]
		if e.Fault.Ended || !isLink || !known {
			continue
		}
		link = replica + " " + link
		i := &interval{e.At, lasting}
		open[e.Fault.ID] = i
		links, all = append(links, link), append(all, i)
	}
	for n, link := range links {
		out[link] = append(out[link], *all[n])
	}
	return out
}

// firstFew returns the beginning of a list that goes into a message.
func firstFew(names []string) []string {
	const most = 5
	if len(names) <= most {
		return names
	}
	return append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

package validate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Names of the Leases of `signpost run` (docs/config.md).
const (
	controllersLease = "signpost-controllers"
	workloadsLease   = "linkerd-destination-endpoint-write"
	dnsLease         = "signpost-dns"
)

// leaseTable has the Leases that allow a write of a resource: one of them must be held. Writes of a resource
// with nil need no Lease. Writes of a missing resource are never allowed.
var leaseTable = map[string][]string{
	// Slices of ExternalWorkloads are written under the second Lease, unless the controllers include that
	// writer.
	"endpointslices": {controllersLease, workloadsLease},
	"endpoints":      {controllersLease},
	// The publisher writes the result of publishing into the status.
	"dnsendpoints/status": {dnsLease},
	// The ConfigMap stores approved deletions.
	"configmaps": {dnsLease},
	"leases":     nil,
	// A standby sends Events too.
	"events":                   nil,
	"selfsubjectaccessreviews": nil,
	"subjectaccessreviews":     nil,
	"tokenreviews":             nil,
}

// updateLeases are the Leases that allow a write to a name server.
var updateLeases = []string{dnsLease}

// reordering is how much later a request may arrive than a later one on another connection, because the
// machine of the lab is busy.
const reordering = 250 * time.Millisecond

// drain is how long after the end of a fault a link may still deliver what the fault delayed.
const drain = time.Second

// delayFaults are the faults of a link that delay requests. While one of them is active, the time of a Lease
// stands still for requests on this link. Faults that drop requests (cut) or refuse them (429) don't delay
// others. A pause of the replica is no excuse: a request sent before it has arrived, and a request sent after
// it is the error that V7 must find.
var delayFaults = []string{"slow", "delay", "half-open", "provider-storm"}

// allReplicas is the first half of the name of a link that stands for the links of all replicas.
const allReplicas = "all"

// Faults of a process or a Lease that V7 considers.
const (
	killKind  = "kill"        // ends the replica at once; the Leases that it held don't count for the next process
	stealKind = "steal-lease" // edits a held Lease, so that two replicas may believe that they hold it
	// restoreKind does the same, because the restored Lease names an earlier holder.
	restoreKind = "etcd-restore"
)

// fastestClock is the highest clock rate of a candidate. A fast clock sees a Lease expire too early
// (faults.md row 13).
const fastestClock = 1.3

// outsideLease returns V7.
func outsideLease() Validator {
	return Validator{
		Name: "V7",
		Rule: "Nobody writes outside its lease: each write of a role that leads arrives within the lease duration after its replica acquired or renewed the Lease, and before anybody else acquired it. Nobody acquires a Lease before that of another process ran out or was given up.",
		Check: func(h history.History) []Finding {
			if h.Setup.UnsafeClock {
				return nil // a fast candidate takes the Lease too early, and Signpost can't prevent that
			}
			c := &leaseCheck{duration: h.Setup.LeaseDuration, leases: map[string]*leaseBook{}, identity: map[string]string{}, links: map[string][]interval{}, history: h}
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
	identity map[string]string     // the replica that first used this identity in a Lease
	killed   map[string]time.Duration
	steals   []interval
	history  history.History
	links    map[string][]interval // what delays has returned, by link
	findings []Finding
}

// leaseBook is the history of a Lease.
type leaseBook struct {
	grants   map[string]time.Duration // arrival of the last write that may have given the Lease to the replica
	releases map[string]time.Duration // arrival of the last write that released it, if that was after the grant
	takes    map[string][]take        // successful ones, in the order of arrival
	holder   string                   // process that the Lease names; empty after a release
	renewed  time.Duration            // arrival of the last write of the holder
}

// take is a write that acquired or renewed a Lease.
type take struct{ arrived, responded time.Duration }

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
		// The holder is empty or an earlier one now, so everybody may take the Lease at once.
		c.steals = append(c.steals, interval{e.At, e.At + c.duration})
	case e.Write == nil || e.Write.Replica == history.Person:
	case e.Write.Update != nil:
		what := "the update of " + some(e.Write.Update.Names)
		c.requireLease(e, updateLeases, e.Write.Replica+" to the name server", what)
	case e.Write.Kubernetes != nil && e.Write.Kubernetes.Resource == "leases":
		c.lease(e.At, *e.Write)
	case e.Write.Kubernetes != nil:
		c.kubernetes(e)
	}
}

// kubernetes checks a write of anything but a Lease.
func (c *leaseCheck) kubernetes(e history.Entry) {
	k := e.Write.Kubernetes
	resource := k.Resource
	if k.Subresource != "" {
		resource += "/" + k.Subresource
	}
	what := fmt.Sprintf("the %s of %s %s/%s", k.Verb, resource, k.Namespace, k.Name)
	allowed, known := leaseTable[resource]
	if !known {
		c.report(e, e.Write.Replica, fmt.Sprintf("it has sent %s, and no role writes that.", what))
		return
	}
	if allowed != nil {
		c.requireLease(e, allowed, e.Write.Replica+" to kube-apiserver", what)
	}
}

// lease records the effect of a write of a Lease.
func (c *leaseCheck) lease(at time.Duration, w history.Write) {
	k := w.Kubernetes
	if k.Verb == "delete" || !k.Reached {
		return
	}
	done := w.Status >= 200 && w.Status < 300
	// A write without response, or with a server error, may have been carried out.
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
		c.checkAcquired(book, at, w)
		book.takes[w.Replica] = append(book.takes[w.Replica], take{at, max(at, w.Responded)})
	}
}

// checkAcquired reports a process that acquires a Lease which another process still holds. A process may take
// a Lease only one lease duration after it has seen the last renewal, which it can't see before the renewal
// arrives.
func (c *leaseCheck) checkAcquired(book *leaseBook, at time.Duration, w history.Write) {
	k := w.Kubernetes
	age := at - book.renewed
	if book.holder != "" && book.holder != k.Holder && age < time.Duration(float64(c.duration)/fastestClock) && !c.stolen(at, at) {
		c.findings = append(c.findings, Finding{"V7", at, w.Replica, fmt.Sprintf("it acquires %s as %s, and %s has renewed it %s before: it lasts for %s.", k.Name, quoted(k.Holder), quoted(book.holder), age.Round(time.Millisecond), c.duration)})
	}
	book.holder, book.renewed = k.Holder, at
}

// stolen reports whether somebody edited a Lease shortly before or within an interval.
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

// requireLease reports a write of a replica that can't hold any of the Leases.
func (c *leaseCheck) requireLease(e history.Entry, leases []string, subject, what string) {
	var reasons []string
	for _, name := range leases {
		reason := c.notHeld(name, e)
		if reason == "" {
			return
		}
		reasons = append(reasons, reason)
	}
	c.report(e, subject, fmt.Sprintf("it has sent %s without a Lease for it: %s.", what, strings.Join(reasons, "; ")))
}

func (c *leaseCheck) report(e history.Entry, subject, message string) {
	c.findings = append(c.findings, Finding{"V7", e.At, subject, message})
}

// notHeld returns why the replica of e can't hold a Lease when e arrives, or "" if it may hold it.
func (c *leaseCheck) notHeld(name string, e history.Entry) string {
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

// supplanted returns who has acquired the Lease since the replica of e did. A stolen Lease may have two
// holders until the former one learns of it.
func (c *leaseCheck) supplanted(book *leaseBook, name string, granted time.Duration, link string, e history.Entry) string {
	for other, takes := range book.takes {
		if other == e.Write.Replica {
			continue
		}
		for _, t := range slices.Backward(takes) {
			if t.arrived <= granted {
				break
			}
			if !c.stolen(t.arrived, t.responded) && t.responded < e.At && c.elapsed(link, t.responded, e.At) > reordering {
				return fmt.Sprintf("%s has acquired %s %s before, and %s hasn't since", other, name, (e.At - t.responded).Round(time.Millisecond), e.Write.Replica)
			}
		}
	}
	return ""
}

// elapsed returns how much of the time between two moments no fault delayed the link.
func (c *leaseCheck) elapsed(link string, from, to time.Duration) time.Duration {
	out, covered := to-from, from
	for _, i := range c.delays(link) {
		begin, end := max(i.from, covered), min(i.to, to)
		if begin < end {
			out -= end - begin
			covered = end
		}
	}
	return out
}

// delays returns when faults delayed the link, in the order of time. The target of such a fault is
// REPLICA→SERVER.
func (c *leaseCheck) delays(link string) []interval {
	all, ok := c.links[link]
	if !ok {
		all = faultIntervals(c.history, func(f *history.Fault) bool {
			replica, server, _ := strings.Cut(f.Target, "→")
			name := " " + linkNames[server]
			return slices.Contains(delayFaults, f.Kind) && (link == replica+name || replica == allReplicas && strings.HasSuffix(link, name))
		}, func(string) time.Duration { return drain })
		c.links[link] = all
	}
	return all
}

// linkNames maps the server in the target of a fault to the link on which its writes are recorded on arrival.
// A fault behind that place (kube-apiserver, behind) delays no request that hasn't arrived.
var linkNames = map[string]string{"kube-apiserver": "API", "bind": "DNS"}

// linkOf returns the link of a write: that of its replica to the API server or to the name server.
func linkOf(w *history.Write) string {
	if w.Update != nil {
		return w.Replica + " DNS"
	}
	return w.Replica + " API"
}

// mostShown is the maximum number of items of a list in a message.
const mostShown = 5

// some returns the beginning of a list, for a message.
func some(items []string) string {
	if len(items) <= mostShown {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:mostShown], ", "), len(items)-mostShown)
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Kind is a kind of fault. Its text is the Kind of a history.Fault.
type Kind string

// Kinds of faults. The effect on the target lasts from At until Until.
const (
	// Kill ends a replica with SIGKILL, and starts it again at the end.
	Kill Kind = "kill"
	// Terminate ends a replica with SIGTERM, and starts it again at the end.
	Terminate Kind = "terminate"
	// Pause stops a replica with SIGSTOP, and continues it at the end.
	Pause Kind = "pause"

	// APIServerKill ends the API server with SIGKILL, and starts it again at the end.
	APIServerKill Kind = "apiserver-kill"
	// EtcdKill ends etcd with SIGKILL, and starts it again at the end.
	EtcdKill Kind = "etcd-kill"
	// EtcdCompact compacts etcd at At, up to the last revisions. With Fault.Relist the API server is down
	// from before the compaction until the end, so that watches can't resume.
	EtcdCompact Kind = "etcd-compact"
	// EtcdCopy copies etcd's data for the next EtcdRestore.
	EtcdCopy Kind = "etcd-copy"
	// EtcdRestore replaces etcd's data at At by the copy, which is Fault.Age old. The API server is down
	// until the end.
	EtcdRestore Kind = "etcd-restore"
	// EtcdFull raises the alarm NOSPACE of etcd, which refuses all writes until the end.
	EtcdFull Kind = "etcd-full"

	// Delay delays everything on a link by Fault.Delay, in both directions.
	Delay Kind = "delay"
	// Slow limits a link to Fault.Rate bytes per second, in each direction.
	Slow Kind = "slow"
	// Cut resets all connections of a link, and refuses new ones.
	Cut Kind = "cut"
	// HalfOpen drops everything on a link without closing connections, so that neither side notices.
	HalfOpen Kind = "half-open"

	// APIErrors makes a share of the requests of a replica to the API server fail with Fault.Status, or
	// resets their connection.
	APIErrors Kind = "api-errors"
	// WithdrawRight makes all requests of a replica for Fault.Resource fail with the status 403, and ends its
	// watches at At, as if a right were withdrawn. The right is restored at the end.
	WithdrawRight Kind = "withdraw-right"

	// DropVersion makes a CustomResourceDefinition serve another version in place of the one that is read.
	DropVersion Kind = "drop-version"

	// DNSDrop drops a share of the messages between a replica and the name server.
	DNSDrop Kind = "dns-drop"
	// ProviderStorm drops messages to the name server and delays all others, for all replicas at once.
	ProviderStorm Kind = "provider-storm"
	// BINDPause stops the name server with SIGSTOP, and continues it at the end.
	BINDPause Kind = "bind-pause"
	// BINDRestart ends the name server, and starts it with the same zones at the end.
	BINDRestart Kind = "bind-restart"

	// StealLease writes a holder that is no replica into a Lease, and empties the holder at the end.
	StealLease Kind = "steal-lease"
	// RotateCertificates replaces the certificate of its target at At.
	RotateCertificates Kind = "rotate-certificates"
	// SlowClient makes a client stop reading its streams until the end.
	SlowClient Kind = "slow-client"
)

// ClockSkew stands for a [Clock] in tables. It isn't the Kind of a Fault, because it lasts the whole run.
const ClockSkew = "clock"

// Targets that exist once in a lab. [Lab] has the names of replicas, links, Leases, certificates and clients.
const (
	APIServer  = "kube-apiserver"
	Etcd       = "etcd"
	NameServer = "bind"
	AllDNS     = "all→bind" // of ProviderStorm: the links of all replicas to the name server
)

// Reset is the Status of APIErrors that resets the connection instead of responding.
const Reset = -1

// Fault is one fault, from At until Until, which are equal for an instantaneous one.
type Fault struct {
	// ID counts from 1, in the order of At.
	ID int
	// At and Until are times since the start of Run.
	At, Until time.Duration
	Kind      Kind
	// Target is one of the names of Lab, or one of the constants above.
	Target string

	// Delay is the delay of messages, for Delay and ProviderStorm.
	Delay time.Duration
	// Rate is in bytes per second, for Slow.
	Rate int
	// Share is the affected share of the requests or messages, from 0 to 1, for APIErrors, DNSDrop and
	// ProviderStorm.
	Share float64
	// Status is the HTTP status of APIErrors, or Reset.
	Status int
	// Resource is the plural name of the resource of WithdrawRight.
	Resource string
	// Applied means that a request is carried out before its response is dropped or replaced, for APIErrors,
	// DNSDrop and ProviderStorm. Otherwise the request is dropped.
	Applied bool
	// Relist means that the API server is down meanwhile, for EtcdCompact.
	Relist bool
	// Age is the age of the copy, for EtcdRestore.
	Age time.Duration
	// Bump means that the revision of etcd is raised above all earlier ones, for EtcdRestore. Otherwise it
	// goes back.
	Bump bool
}

// Detail returns the parameters of a fault as text, for history.Fault and the log; empty if it has none.
func (f Fault) Detail() string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(f.Delay > 0, "delay %s", f.Delay)
	add(f.Rate > 0, "%d B/s", f.Rate)
	add(f.Resource != "", "%s", f.Resource)
	add(f.Share > 0, "share %.2f", f.Share)
	add(f.Status > 0, "status %d", f.Status)
	add(f.Status == Reset, "reset")
	add(f.Share > 0 && f.Applied, "after it was applied")
	add(f.Share > 0 && !f.Applied, "before it is applied")
	add(f.Relist, "with the API server away")
	add(f.Age > 0, "from a copy %s old", f.Age)
	add(f.Bump, "with a bumped revision")
	return strings.Join(parts, ", ")
}

// Clock is the clock of one replica during the whole run. It starts with an Offset from the lab's clock, and
// advances Rate seconds per second. The zero Clock means that all replicas have the lab's clock.
type Clock struct {
	Replica string
	Offset  time.Duration
	Rate    float64
}

func (c Clock) String() string {
	if c.Replica == "" {
		return "none"
	}
	return fmt.Sprintf("%s: offset %s, rate %.1f", c.Replica, c.Offset, c.Rate)
}

// Schedule is the plan of one run.
type Schedule struct {
	Profile string
	Clock   Clock
	// Faults are in the order of At.
	Faults []Fault
}

// String returns the schedule as a table, for the log.
func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile %s; %s %s\n", s.Profile, ClockSkew, s.Clock)
	for _, f := range s.Faults {
		line := fmt.Sprintf("%3d  %9s  %9s  %-19s %-34s %s", f.ID, seconds(f.At), seconds(f.Until), f.Kind, f.Target, f.Detail())
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

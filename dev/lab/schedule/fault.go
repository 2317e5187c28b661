package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Kind is a way to break something. Its text is the Kind of a history.Fault.
type Kind string

// The kinds of faults. What they do to their target lasts from At until Until.
const (
	// Kill ends a replica with SIGKILL. It is started again when the fault ends.
	Kill Kind = "kill"
	// Terminate ends a replica with SIGTERM. It is started again when the fault ends.
	Terminate Kind = "terminate"
	// Pause stops a replica with SIGSTOP, and lets it go on when the fault ends.
	Pause Kind = "pause"

	// APIServerKill ends the API server with SIGKILL, and keeps it away until the fault ends.
	APIServerKill Kind = "apiserver-kill"
	// EtcdKill ends etcd with SIGKILL, and keeps it away until the fault ends.
	EtcdKill Kind = "etcd-kill"
	// EtcdCompact makes etcd forget all but the last revisions at At. With Fault.Relist the API server is away from before the
	// compaction until the fault ends, so that watches can't go on where they were.
	EtcdCompact Kind = "etcd-compact"
	// EtcdCopy keeps a copy of etcd's data, for the next EtcdRestore.
	EtcdCopy Kind = "etcd-copy"
	// EtcdRestore replaces etcd's data at At by the copy, which is Fault.Age old. The API server is away until the fault ends.
	EtcdRestore Kind = "etcd-restore"
	// EtcdFull raises the alarm NOSPACE of etcd, which refuses all writes until the fault ends.
	EtcdFull Kind = "etcd-full"

	// Delay holds everything on a link back by Fault.Delay, in both directions.
	Delay Kind = "delay"
	// Slow lets Fault.Rate bytes a second through a link, in each direction.
	Slow Kind = "slow"
	// Cut ends all connections of a link with a reset, and refuses new ones.
	Cut Kind = "cut"
	// HalfOpen lets nothing through a link any more, without a word to either side. Open connections stay open.
	HalfOpen Kind = "half-open"

	// APIErrors answers a share of the requests of a replica to the API server with Fault.Status, or resets their connection.
	APIErrors Kind = "api-errors"
	// WithdrawRight answers each request of a replica for Fault.Resource with the status 403, and ends its watches at At, as when a
	// right is withdrawn. It is given back when the fault ends.
	WithdrawRight Kind = "withdraw-right"

	// DropVersion has a CustomResourceDefinition serve another version in the place of the one that is read, until the fault ends.
	DropVersion Kind = "drop-version"

	// DNSDrop loses a share of the messages between a replica and the name server.
	DNSDrop Kind = "dns-drop"
	// ProviderStorm loses messages to the name server and delays all others, for all replicas at once.
	ProviderStorm Kind = "provider-storm"
	// BINDPause stops the name server with SIGSTOP, and lets it go on when the fault ends.
	BINDPause Kind = "bind-pause"
	// BINDRestart ends the name server, and starts it with the same zones when the fault ends.
	BINDRestart Kind = "bind-restart"

	// StealLease writes a holder that is no replica into a Lease, and empties the holder when the fault ends.
	StealLease Kind = "steal-lease"
	// RotateCertificates gives its target a new certificate at At.
	RotateCertificates Kind = "rotate-certificates"
	// SlowClient makes a client read nothing from its streams until the fault ends.
	SlowClient Kind = "slow-client"
)

// ClockSkew is the word for [Clock] in tables. It is no Kind of a Fault, because it lasts the whole run.
const ClockSkew = "clock"

// Targets that a lab has once. A replica, a link, a Lease, a certificate or a client is named by [Lab].
const (
	APIServer  = "kube-apiserver"
	Etcd       = "etcd"
	NameServer = "bind"
	AllDNS     = "all→bind" // of ProviderStorm: the links of all replicas to the name server
)

// Reset is the Status of APIErrors that breaks the connection instead of answering.
const Reset = -1

// Fault is one thing that is broken, from At until Until. A fault that happens in an instant has both equal.
type Fault struct {
	// ID counts from 1, in the order of At.
	ID int
	// At and Until are since the beginning of Run.
	At, Until time.Duration
	Kind      Kind
	// Target is one of the names of Lab, or one of the constants above.
	Target string

	// Delay is by how much messages are late, for Delay and ProviderStorm.
	Delay time.Duration
	// Rate is in bytes a second, for Slow.
	Rate int
	// Share is which part of the requests or messages it hits, from 0 to 1, for APIErrors, DNSDrop and ProviderStorm.
	Share float64
	// Status is the HTTP status that APIErrors answer, or Reset.
	Status int
	// Resource is the plural name of the resource that WithdrawRight is about.
	Resource string
	// Applied says that what is hit has been done before its answer is lost or replaced, for APIErrors, DNSDrop and
	// ProviderStorm. Otherwise the request is lost before it arrives.
	Applied bool
	// Relist says that the API server is away meanwhile, for EtcdCompact.
	Relist bool
	// Age is how old the copy is, for EtcdRestore.
	Age time.Duration
	// Bump says that the revision of etcd is raised above all that it has had, for EtcdRestore. Otherwise it goes back.
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

// Clock is the clock of one replica for the whole of a run: it has an Offset from that of the lab at the start, and
// advances Rate seconds a second. The zero Clock means that every replica has the clock of the lab.
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

// Schedule is what one run breaks.
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

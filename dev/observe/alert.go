package observe

import "time"

// Severity is how soon somebody is notified.
type Severity string

const (
	// Page is for what users suffer from now, or will soon: somebody is woken up.
	Page Severity = "page"
	// Ticket is for what can wait until the next working day.
	Ticket Severity = "ticket"
)

// Alert is a rule of Prometheus that tells somebody of a fault. Its page in docs/runbooks is called
// like it, in lower case and with dashes.
type Alert struct {
	// Name is in CamelCase and begins with Signpost.
	Name     string
	Severity Severity
	// For is how long the expression has to have a value before the alert fires.
	For time.Duration
	// Expr is in PromQL. It keeps the labels job and namespace, if the targets have them.
	Expr string
	// Summary says in a sentence what users suffer, and Description what to do. Both are templates of
	// Prometheus.
	Summary, Description string
}

// Group is a group of alerts about a role.
type Group struct {
	Name   string
	Alerts []Alert
}

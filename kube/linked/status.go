package linked

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/kube"
)

// StatusPath is the path of the admin server that returns the links as JSON, a list of [Status].
const StatusPath = "/clusters"

// State is the state of a link.
type State string

// The states of links. A deleted link has none.
const (
	// Connecting: the cluster has not been read completely yet. Nothing of it is served.
	Connecting State = "connecting"
	// Synced: the cluster has been read completely, and its changes are followed.
	Synced State = "synced"
	// Stale: changes can't be followed now. The last known objects are served.
	Stale State = "stale"
	// Unusable: the Secret can't be used.
	Unusable State = "unusable"
)

// Status is the status of a link at one moment. It contains no credentials.
type Status struct {
	Cluster string `json:"cluster"`
	// Secret is the name of the Secret.
	Secret string `json:"secret"`
	State  State  `json:"state"`
	// Since is when the link entered this state.
	Since time.Time `json:"since"`
	// Reason says why the link is connecting, stale or unusable, if known, and why the newest kubeconfig
	// isn't in force.
	Reason string `json:"reason,omitempty"`
	// Pending is true while the newest kubeconfig of the Secret has not read everything, and the previous one
	// is in force.
	Pending bool `json:"pending,omitempty"`
	// Server is the URL of the API server, without a path.
	Server        string `json:"server,omitempty"`
	TrustDomain   string `json:"trustDomain,omitempty"`
	ClusterDomain string `json:"clusterDomain,omitempty"`
	// Objects is the number of objects of the cluster in memory.
	Objects int `json:"objects"`
}

// condition is the state of a connection, according to its tables.
type condition struct {
	state State
	// reason is why a table can't be filled; empty if nothing is wrong. detail is the error.
	reason kube.Reason
	detail string
	// why is the full explanation, including missing rights; empty until it is known.
	why string
	// silence says for how long the API server has sent nothing, although nothing has failed yet; empty if it
	// sends.
	silence string
	objects int
}

func (c condition) sameAs(o condition) bool {
	return c.state == o.state && c.reason == o.reason && c.failing() == o.failing()
}

// failing reports whether something is wrong that will be retried.
func (c condition) failing() bool { return c.reason != "" || c.state == Connecting && c.detail != "" }

// text returns the reason with its detail.
func (c condition) text() string {
	switch {
	case c.why != "":
		return c.why
	case c.reason == "":
		return cmp.Or(c.detail, c.silence)
	default:
		return strings.TrimSuffix(fmt.Sprintf("%s: %s", c.reason, c.detail), ": ")
	}
}

// conditions are the conditions of a cluster's connections.
type conditions struct {
	// served is the condition of what is served; without a connection in force, that of the pending one.
	served, pending condition
	// isPending is true while the newest kubeconfig isn't in force.
	isPending bool
	// server is the server of the connection in force; empty for none.
	server string
}

func (c conditions) sameAs(o conditions) bool {
	return c.served.sameAs(o.served) && c.isPending == o.isPending && c.server == o.server &&
		(!c.isPending || c.pending.sameAs(o.pending))
}

// keepExplanations copies the explanations of conditions that have not changed.
func (c *conditions) keepExplanations(last conditions) {
	if c.served.sameAs(last.served) && c.served.reason != "" {
		c.served.why = last.served.why
	}
	if c.pending.sameAs(last.pending) && c.pending.reason != "" {
		c.pending.why = last.pending.why
	}
}

// staysInForce starts the message about a kubeconfig that doesn't work.
const staysInForce = "the new kubeconfig doesn't work, and the previous one stays in force: "

// reason returns what is wrong; empty for nothing.
func (c conditions) reason() string {
	var all []string
	if c.served.state != Synced {
		all = append(all, c.served.text())
	}
	switch {
	case !c.isPending || c.server == "":
	case c.pending.failing():
		all = append(all, staysInForce+c.pending.text())
	default:
		all = append(all, "the new kubeconfig is being tried; until it has worked, the one before stays in force", c.pending.silence)
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// staleAfter is how long changes may be missed before a cluster counts as stale without a failure. Gaps
// between two watches are shorter.
const staleAfter = 5 * time.Second

// conditionOf returns the condition of a connection from its tables. state is Synced for the connection in
// force and Connecting for another; the tables may worsen it.
func conditionOf(tables []kube.TableStatus, state State) condition {
	c := condition{state: state}
	for _, t := range tables {
		c.objects += t.Objects
		failing, silent := t.State == kube.Waiting, state == Synced && t.Stale > staleAfter
		if !t.Required || !failing && !silent {
			continue
		}
		if c.state == Synced {
			c.state = Stale
		}
		switch {
		case failing && c.reason == "":
			c.reason, c.detail = t.Reason, fmt.Sprintf("%s: %s", t.Kind, t.Detail)
		case c.detail == "":
			c.detail = fmt.Sprintf("%s: nothing received for %s", t.Kind, t.Stale.Round(time.Second))
		}
	}
	if i := slices.IndexFunc(tables, hangs); state == Connecting && i >= 0 {
		c.silence = fmt.Sprintf("%s: no response for %s", tables[i].Kind, tables[i].Stale.Round(time.Second))
	}
	return c
}

// hangs reports whether the API server has not responded yet, for too long. An API server that hangs is
// noticed as a failure only when the request times out.
func hangs(t kube.TableStatus) bool {
	return t.Required && t.State == kube.Connecting && t.LastContact.IsZero() && t.Stale > staleAfter
}

// Status returns the status of each link, sorted by cluster and Secret.
func (s *Set) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Status, 0, len(s.clusters)+len(s.bad))
	for _, c := range s.clusters {
		if !c.unlinked {
			all = append(all, c.status())
		}
	}
	for name, b := range s.bad {
		all = append(all, Status{Cluster: b.cluster, Secret: name, State: Unusable, Since: b.since, Reason: b.reason})
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Secret, b.Secret), cmp.Compare(a.State, b.State))
	})
	return all
}

// Secrets returns the status of the table of the Secrets that link clusters.
func (s *Set) Secrets() kube.TableStatus { return s.secrets.Status()[0] }

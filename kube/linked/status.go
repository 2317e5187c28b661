package linked

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/kube"
)

// StatusPath is where the admin server tells of the links: as JSON, a list of [Status].
const StatusPath = "/clusters"

// State is what has become of a link.
type State string

// The states of links. One that is gone is not listed.
const (
	// Connecting: not everything has been read yet, so that nothing is served.
	Connecting State = "connecting"
	// Synced: everything has been read, and changes are followed.
	Synced State = "synced"
	// Stale: what was known last is served; changes can't be followed now.
	Stale State = "stale"
	// Unusable: the Secret can't be used as it is.
	Unusable State = "unusable"
)

// Status is the condition of a link at one moment. It has no credentials.
type Status struct {
	Cluster string `json:"cluster"`
	// Secret is the name of the Secret.
	Secret string `json:"secret"`
	State  State  `json:"state"`
	// Since is when it came to be in this state.
	Since time.Time `json:"since"`
	// Reason says why it is connecting, stale or unusable, if that is known.
	Reason string `json:"reason,omitempty"`
	// Server is the URL of the API server.
	Server        string `json:"server,omitempty"`
	TrustDomain   string `json:"trustDomain,omitempty"`
	ClusterDomain string `json:"clusterDomain,omitempty"`
	// Objects is how many objects of the cluster are known.
	Objects int `json:"objects"`
}

// condition is what the tables of a connection say.
type condition struct {
	state State
	// reason is empty while nothing is wrong; detail has its particulars.
	reason  kube.Reason
	detail  string
	objects int
}

// silentFor is how long changes may not have been followed for a cluster to count as
// stale before anything has failed. Shorter gaps are those between two watches.
const silentFor = 5 * time.Second

// conditionOf judges the tables of a connection that has come so far.
func conditionOf(tables []kube.TableStatus, p progress) condition {
	c := condition{state: p.state()}
	for _, t := range tables {
		c.objects += t.Objects
		failing, silent := t.State == kube.Waiting, p == complete && t.Stale > silentFor
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
			c.detail = fmt.Sprintf("%s: no word for %s", t.Kind, t.Stale.Round(time.Second))
		}
	}
	return c
}

// progress is how much of a cluster has been read.
type progress uint8

const (
	// nothing was ever read completely.
	nothing progress = iota
	// outdated: it was, by an earlier connection.
	outdated
	// complete: it was, by this connection.
	complete
)

func (p progress) state() State {
	switch p {
	case nothing:
		return Connecting
	case outdated:
		return Stale
	default:
		return Synced
	}
}

// explain puts a reason and its particulars into words.
func explain(reason kube.Reason, detail string) string {
	if reason == "" {
		return detail
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", reason, detail), ": ")
}

// Status returns the condition of each link, sorted by cluster and Secret.
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

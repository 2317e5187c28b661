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

// State is the state of a link.
type State string

// The states of links. A deleted link has none.
const (
	// Connecting: the cluster has not been read completely yet, and none of it is served.
	Connecting State = "connecting"
	// Synced: the cluster has been read completely, and its changes are followed.
	Synced State = "synced"
	// Stale: changes can't be followed now. What was read last is served.
	Stale State = "stale"
	// Unusable: the Secret can't be used.
	Unusable State = "unusable"
)

// Status is the condition of a link at one moment. It contains no credentials.
type Status struct {
	Cluster string `json:"cluster"`
	// Secret is the name of the Secret.
	Secret string `json:"secret"`
	State  State  `json:"state"`
	// Since is when the link came into this state.
	Since time.Time `json:"since"`
	// Reason says why the link is connecting, stale or unusable, if that is known.
	Reason string `json:"reason,omitempty"`
	// Server is the URL of the API server.
	Server        string `json:"server,omitempty"`
	TrustDomain   string `json:"trustDomain,omitempty"`
	ClusterDomain string `json:"clusterDomain,omitempty"`
	// Objects is how many objects of the cluster are held in memory.
	Objects int `json:"objects"`
}

// condition is the state of a connection, by its tables.
type condition struct {
	state State
	// reason is why a table can't be filled, empty while nothing is wrong. detail has the
	// particulars.
	reason  kube.Reason
	detail  string
	objects int
}

// silentFor is how long changes may be missed before a cluster counts as stale although nothing
// has failed. Gaps between two watches are shorter.
const silentFor = 5 * time.Second

// conditionOf returns the condition of a connection by its tables and its progress.
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
			c.detail = fmt.Sprintf("%s: nothing received for %s", t.Kind, t.Stale.Round(time.Second))
		}
	}
	return c
}

// progress is how much of a cluster has been read.
type progress uint8

const (
	// nothing: the cluster has never been read completely.
	nothing progress = iota
	// outdated: an earlier connection has read it completely.
	outdated
	// complete: this connection has read it completely.
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

// explain returns a reason and its particulars as one text.
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

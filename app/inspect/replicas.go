package inspect

import (
	"cmp"
	"slices"
	"strings"
)

// MaxReplicas limits the replicas of a status.
const MaxReplicas = 50

// replicas returns this process first, then the others by name: the pods that the roles know, and
// further holders of Leases.
func (s *Server) replicas(status *Status) []Replica {
	if status.Process == "" {
		return nil
	}
	all := []Replica{{Process: status.Process}}
	if s.config.Replicas != nil {
		for _, r := range s.config.Replicas() {
			if r.Process == status.Process {
				all[0] = r
			} else {
				all = append(all, r)
			}
		}
	}
	own := &all[0] // whose fields the process knows best
	own.Here, own.Ready, own.Version, own.Started = true, new(status.Ready), status.Version, new(status.Started)
	for i := range all[1:] {
		if r := &all[i+1]; r.Revision != "" && r.Revision == all[0].Revision {
			r.Version = status.Version
		}
	}
	for i := range status.Leading {
		all = addLease(all, &status.Leading[i])
	}
	slices.SortFunc(all[1:], func(a, b Replica) int { return cmp.Compare(a.Process, b.Process) })
	return all[:min(len(all), MaxReplicas)]
}

// addLease adds a Lease to the replica that holds it. An unknown holder is added as a replica.
func addLease(all []Replica, l *Leading) []Replica {
	holder := l.Leader
	i := 0
	if !l.Leads {
		if holder == "" {
			return all
		}
		i = slices.IndexFunc(all, func(r Replica) bool { return isIdentityOf(holder, r.Process) })
	}
	if i < 0 {
		all, i = append(all, Replica{Process: podOf(holder)}), len(all)
	}
	all[i].Leads = append(all[i].Leads, ReplicaLease{Role: l.Role, Lease: l.Lease, Since: l.Since})
	return all
}

// isIdentityOf reports whether the identity in a Lease is that of a pod: the pod's name, or the
// name with a random suffix.
func isIdentityOf(identity, pod string) bool { return podOf(identity) == pod || identity == pod }

// podOf returns the pod's name in the identity in a Lease. Names of pods have no underscore.
func podOf(identity string) string {
	pod, _, _ := strings.Cut(identity, "_")
	return pod
}

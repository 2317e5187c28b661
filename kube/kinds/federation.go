package kinds

import (
	"fmt"
	"strings"

	"github.com/signpostd/signpost/catalog"
)

// The labels and annotations of a Service about other clusters. The key remote-discovery names one cluster as
// a label, and the members of a federated Service as an annotation.
const (
	remoteDiscovery = "multicluster.linkerd.io/remote-discovery"
	remoteService   = "multicluster.linkerd.io/remote-service"
	localDiscovery  = "multicluster.linkerd.io/local-discovery"
)

// federation returns the members of a federated Service; nil for other Services. An invalid fragment of the
// list is left out and is a problem.
func (d *fieldReader) federation(annotations map[string]string) *catalog.Federation {
	list, remote := annotations[remoteDiscovery]
	here, local := annotations[localDiscovery]
	if !remote && !local {
		return nil
	}
	f := &catalog.Federation{Local: d.optional(strings.TrimSpace(here), nameLimit, "metadata.annotations["+localDiscovery+"]")}
	if remote {
		f.Remote = d.members(list)
	}
	return f
}

// members parses a list of members in other clusters. Fragments above the limit are only counted, in a
// problem.
func (d *fieldReader) members(list string) []catalog.RemoteMember {
	var members []catalog.RemoteMember
	seen := map[catalog.RemoteMember]struct{}{}
	i, over := -1, 0
	for fragment := range strings.SplitSeq(list, ",") {
		i++
		fragment = strings.TrimSpace(fragment)
		if fragment == "" {
			continue
		}
		m, ok := memberOf(fragment)
		if !ok {
			d.Add(d.invalidMember(m, fragment), "metadata.annotations[%s][%d]", remoteDiscovery, i)
			continue
		}
		if _, known := seen[m]; known {
			continue
		}
		if len(members) == membersLimit {
			over++
			continue
		}
		m = catalog.RemoteMember{Service: d.scope.Intern(m.Service), Cluster: d.scope.Intern(m.Cluster)}
		seen[m] = struct{}{}
		members = append(members, m)
	}
	if over > 0 {
		d.Add(fmt.Sprintf("there are more than %d members, and %d of them are left out", membersLimit, over), "metadata.annotations[%s]", remoteDiscovery)
	}
	return members
}

// memberOf parses a fragment of the list. It returns false if the fragment names no member of another
// cluster.
func memberOf(fragment string) (catalog.RemoteMember, bool) {
	service, cluster, _ := strings.Cut(fragment, "@")
	named := service != "" && cluster != "" && !strings.Contains(cluster, "@") && fits(service, nameLimit) && fits(cluster, nameLimit)
	return catalog.RemoteMember{Service: service, Cluster: cluster}, named && cluster != catalog.LocalCluster
}

func (d *fieldReader) invalidMember(m catalog.RemoteMember, fragment string) string {
	switch {
	case d.Full():
		return ""
	case m.Service != "" && m.Cluster == catalog.LocalCluster:
		return quote(fragment) + " names no linked cluster; name a member of this cluster in the annotation " + localDiscovery
	default:
		return quote(fragment) + " names no member; write SERVICE@CLUSTER"
	}
}

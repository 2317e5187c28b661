package kinds

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// The labels and annotations of a Service about other clusters. The same key means
// one cluster as a label, and a federated service as an annotation.
const (
	remoteDiscovery = "multicluster.linkerd.io/remote-discovery"
	remoteService   = "multicluster.linkerd.io/remote-service"
	localDiscovery  = "multicluster.linkerd.io/local-discovery"
)

// federation reads the annotations of a federated Service; it returns nil for other Services. A
// fragment of the list that names no member is a problem, and is left out.
func federation(s kube.Scope, annotations map[string]string, p *problems) *catalog.Federation {
	list, remote := annotations[remoteDiscovery]
	here, local := annotations[localDiscovery]
	if !remote && !local {
		return nil
	}
	f := &catalog.Federation{Local: s.Intern(strings.TrimSpace(here))}
	i := -1
	for fragment := range strings.SplitSeq(list, ",") {
		i++
		fragment = strings.TrimSpace(fragment)
		if fragment == "" {
			continue
		}
		m, reason := remoteMember(s, fragment)
		if reason != "" {
			p.add(reason, "metadata.annotations[%s][%d]", remoteDiscovery, i)
			continue
		}
		if !slices.Contains(f.Remote, m) {
			f.Remote = append(f.Remote, m)
		}
	}
	return f
}

// remoteMember reads a fragment of the list. The reason says what is wrong with it, if
// anything.
func remoteMember(s kube.Scope, fragment string) (m catalog.RemoteMember, reason string) {
	service, cluster, _ := strings.Cut(fragment, "@")
	switch {
	case service == "" || cluster == "" || strings.Contains(cluster, "@"):
		return m, "\"" + fragment + "\" names no member; write SERVICE@CLUSTER"
	case cluster == catalog.LocalCluster:
		return m, "\"" + fragment + "\" names no linked cluster; name a member of this cluster in the annotation " + localDiscovery
	}
	return catalog.RemoteMember{Service: s.Intern(service), Cluster: s.Intern(cluster)}, ""
}

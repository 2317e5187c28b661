package validate

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// unownedSlices reports each request of a replica that would change a slice or Endpoints that Signpost
// doesn't own. A response 404 or 409 is allowed, because it is the result of a race.
func unownedSlices(h history.History, c *cluster) []Finding {
	managers := map[string]map[string]bool{} // all values of the managed-by label that a slice has had
	for _, e := range h.Entries {
		if o := e.Object; o != nil && o.Resource == "endpointslices" && !o.Deleted {
			slice, err := model.Decode[metav1.PartialObjectMetadata](model.NewVersion(*o))
			if err != nil {
				continue // reported elsewhere
			}
			key := o.Namespace + "/" + o.Name
			if managers[key] == nil {
				managers[key] = map[string]bool{}
			}
			managers[key][slice.Labels[discoveryv1.LabelManagedBy]] = true
		}
	}
	deleted := deletions(h)
	var out []Finding
	for _, e := range h.Entries {
		w := e.Write
		if w == nil || w.Kubernetes == nil || w.Replica == history.Person || w.Kubernetes.Verb == "create" || !w.Kubernetes.Reached {
			continue
		}
		if w.Status == http.StatusConflict || w.Status == http.StatusNotFound {
			continue
		}
		k := w.Kubernetes
		switch k.Resource {
		case "endpointslices":
			if k.Precondition == "" {
				out = append(out, Finding{"V5", e.At, "slice " + k.Name, fmt.Sprintf("%s has sent its %s without a precondition: it hits whatever somebody else has made of it meanwhile.", w.Replica, k.Verb)})
			}
			if owners := managers[k.Namespace+"/"+k.Name]; len(owners) > 0 && !anyOfSignpost(owners) {
				out = append(out, Finding{"V5", e.At, "slice " + k.Name, fmt.Sprintf("%s has sent its %s, although it isn't a slice of Signpost.", w.Replica, k.Verb)})
			}
		case "endpoints":
			if k.Precondition == "" {
				out = append(out, Finding{"V5", e.At, "endpoints " + k.Name, fmt.Sprintf("%s has sent their %s without a precondition: it hits whatever somebody else has made of them meanwhile.", w.Replica, k.Verb)})
			}
			if k.Namespace == h.Setup.Namespace && c.neverSelects(k.Name, e.At, deleted) {
				out = append(out, Finding{"V5", e.At, "endpoints " + k.Name, fmt.Sprintf("%s has sent their %s, although they were written by hand: their Service has no selector.", w.Replica, k.Verb)})
			}
		}
	}
	return out
}

func anyOfSignpost(managers map[string]bool) bool {
	return managers[string(model.SliceWriter)] || managers[string(model.MirrorWriter)] || managers[string(model.WorkloadWriter)]
}

// deletions returns when each Service was first deleted.
func deletions(h history.History) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, e := range h.Entries {
		if o := e.Object; o != nil && o.Resource == "services" && o.Deleted && o.Namespace == h.Setup.Namespace {
			if _, ok := out[o.Name]; !ok {
				out[o.Name] = e.At
			}
		}
	}
	return out
}

// neverSelects reports whether a Service has never had a selector and wasn't deleted before. Signpost doesn't
// write the Endpoints of such a Service.
func (c *cluster) neverSelects(name string, at time.Duration, deleted map[string]time.Duration) bool {
	if first, ok := deleted[name]; ok && first <= at {
		return false
	}
	for _, v := range c.services[name] {
		if v.service != nil && v.service.Spec.Selector != nil {
			return false
		}
	}
	return len(c.services[name]) > 0
}

// orphanedSlices reports slices of Signpost at the end of the calm whose owner was never a Service. Slices of
// a deleted Service are allowed, because the lab doesn't run the garbage collector of Kubernetes.
func orphanedSlices(h history.History, c *cluster, at time.Duration) []Finding {
	s := stateAt(h, at)
	owners := map[string]bool{}
	for _, versions := range c.services {
		for _, v := range versions {
			if v.service != nil {
				owners[string(v.service.UID)] = true
			}
		}
	}
	var out []Finding
	for _, slice := range model.All[discoveryv1.EndpointSlice](s, "endpointslices", h.Setup.Namespace) {
		writer, ours := model.WriterOf(&slice)
		if !ours {
			continue
		}
		name := slice.Labels[discoveryv1.LabelServiceName]
		if _, exists := model.Get[corev1.Service](s, "services", h.Setup.Namespace, name); exists {
			continue // checked by V1
		}
		owner := metav1.GetControllerOf(&slice)
		if writer == model.MirrorWriter || owner == nil || !owners[string(owner.UID)] {
			out = append(out, Finding{"V5", at, "slice " + slice.Name, fmt.Sprintf("everything is calm, and there is no Service %q whose slice it is.", name)})
		}
	}
	return out
}

package cloudmaptest

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

type listRequest struct {
	MaxResults int
	NextToken  string
	Filters    []struct {
		Name, Condition string
		Values          []string
	}
	ServiceID string
}

// page returns a page of a list, and the token of the next one.
func page[T any](in listRequest, all []T) ([]T, string, *Fault) {
	size := in.MaxResults
	if size == 0 {
		size = 100
	}
	start := 0
	if in.NextToken != "" {
		var err error
		if start, err = strconv.Atoi(in.NextToken); err != nil || start > len(all) {
			return nil, "", invalid("NextToken %s", in.NextToken)
		}
	}
	if size < 1 || size > 100 {
		return nil, "", invalid("MaxResults must be from 1 to 100")
	}
	end := min(start+size, len(all))
	if end == len(all) {
		return all[start:end], "", nil
	}
	return all[start:end], strconv.Itoa(end), nil
}

// answer is the response with a page.
func answer[T any](key string, in listRequest, all []T) (any, *Fault) {
	some, next, fault := page(in, all)
	if fault != nil {
		return nil, fault
	}
	out := map[string]any{key: some}
	if next != "" {
		out["NextToken"] = next
	}
	return out, nil
}

// listNamespaces is API_ListNamespaces.
func listNamespaces(s *Server, in listRequest) (any, *Fault) {
	all := slices.Clone(s.namespaces)
	for _, f := range in.Filters {
		if f.Name != "TYPE" || len(f.Values) != 1 || f.Condition != "" && f.Condition != "EQ" {
			return nil, invalid("The filter %s %s has %d values", f.Name, f.Condition, len(f.Values))
		}
		all = slices.DeleteFunc(all, func(n *Namespace) bool { return n.Type != f.Values[0] })
	}
	return answer("Namespaces", in, all)
}

// listServices is API_ListServices.
func listServices(s *Server, in listRequest) (any, *Fault) {
	wanted := ""
	for _, f := range in.Filters {
		if f.Name != "NAMESPACE_ID" || len(f.Values) != 1 {
			return nil, invalid("The filter %s has %d values", f.Name, len(f.Values))
		}
		if _, fault := s.namespace(f.Values[0]); fault != nil {
			return nil, fault
		}
		wanted = f.Values[0]
	}
	// What a listing shows is as old as the lag.
	shown := time.Now().Add(-s.Lag())
	var all []map[string]any
	for _, v := range s.services {
		if (wanted == "" || v.Namespace == wanted) && !v.created.After(shown) && (v.gone.IsZero() || v.gone.After(shown)) {
			all = append(all, v.detail())
		}
	}
	return answer("Services", in, all)
}

// listInstances is API_ListInstances.
func listInstances(s *Server, in listRequest) (any, *Fault) {
	v, fault := s.find(in.ServiceID)
	if fault != nil {
		return nil, fault
	}
	all := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(v.Instances)) {
		all = append(all, map[string]any{"Id": id, "Attributes": v.Instances[id]})
	}
	return answer("Instances", in, all)
}

// discoverRevision is API_DiscoverInstancesRevision.
func discoverRevision(s *Server, in struct{ NamespaceName, ServiceName string }) (any, *Fault) {
	now := time.Now()
	for _, n := range s.namespaces {
		if v := s.named(n.ID, in.ServiceName); n.Name == in.NamespaceName && v != nil && !v.created.Add(s.dataLag).After(now) {
			return map[string]any{"InstancesRevision": v.seen(now)}, nil
		}
	}
	return nil, &Fault{Status: 400, Code: "ServiceNotFound", Message: "Service " + in.ServiceName + " not found."}
}

// seen returns the revision that is visible at a time.
func (v *service) seen(now time.Time) int64 {
	for _, old := range v.before {
		if now.Before(old.until) {
			return old.revision
		}
	}
	return v.revision
}

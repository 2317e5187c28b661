package cloudmaptest

import (
	"maps"
	"net/netip"
	"slices"
)

const (
	alias = "AWS_ALIAS_DNS_NAME"
	cname = "AWS_INSTANCE_CNAME"
	ipv4  = "AWS_INSTANCE_IPV4"
	ipv6  = "AWS_INSTANCE_IPV6"
	port  = "AWS_INSTANCE_PORT"
)

type registerRequest struct {
	ServiceID, InstanceID, CreatorRequestID string
	Attributes                              map[string]string
}

// registerInstance is API_RegisterInstance.
func registerInstance(s *Server, in registerRequest) (any, *Fault) {
	v, fault := s.find(in.ServiceID)
	if fault != nil {
		return nil, fault
	}
	if in.InstanceID == "" || len(in.InstanceID) > 64 {
		return nil, invalid("InstanceId must have length from 1 to 64")
	}
	if fault := checkAttributes(v.Config, in.Attributes); fault != nil {
		return nil, fault
	}
	if fault := v.busy(in.InstanceID); fault != nil {
		return nil, fault
	}
	if _, known := v.Instances[in.InstanceID]; !known {
		total := 0
		for _, other := range s.services {
			if other.Namespace == v.Namespace && other.gone.IsZero() {
				total += other.count()
			}
		}
		isCNAME := v.Config != nil && v.Config.DNSRecords[0].Type == "CNAME"
		if total >= s.quota || v.count() >= s.perService || s.oneCNAME && isCNAME && len(v.Instances) > 0 {
			return nil, &Fault{Status: 400, Code: "ResourceLimitExceeded", Message: "The number of instances exceeds the quota."}
		}
	}
	id := s.begin(v, "REGISTER_INSTANCE", in.InstanceID, func() string {
		next := maps.Clone(v.Instances)
		if next == nil {
			next = map[string]map[string]string{}
		}
		next[in.InstanceID] = in.Attributes
		v.Instances = next
		s.revise(v)
		return ""
	})
	return map[string]any{"OperationId": id}, nil
}

// count returns the number of instances that exist or are being registered.
func (v *service) count() int {
	n := len(v.Instances)
	for instance := range v.running {
		if _, known := v.Instances[instance]; !known && instance != "" {
			n++
		}
	}
	return n
}

// busy returns a fault if an operation of an instance is running.
func (v *service) busy(instance string) *Fault {
	if id := v.running[instance]; id != "" {
		return &Fault{Status: 400, Code: "DuplicateRequest", Message: "Another operation of the instance is in progress.", More: map[string]string{"DuplicateOperationId": id}}
	}
	return nil
}

// checkAttributes checks that an instance has the attributes that its service needs.
func checkAttributes(c *DNSConfig, attributes map[string]string) *Fault {
	if c == nil {
		return nil
	}
	var kinds []string
	for _, r := range c.DNSRecords {
		kinds = append(kinds, r.Type)
	}
	if attributes[alias] != "" {
		switch {
		case !slices.Contains(kinds, "A") && !slices.Contains(kinds, "AAAA"):
			return invalid("%s needs a service with A or AAAA records", alias)
		case c.RoutingPolicy != "WEIGHTED":
			return invalid("%s needs the routing policy WEIGHTED", alias)
		case attributes[ipv4]+attributes[ipv6]+attributes[cname] != "":
			return invalid("%s can't be with other attributes", alias)
		}
		return nil
	}
	for kind, key := range map[string]string{"A": ipv4, "AAAA": ipv6, "CNAME": cname, "SRV": port} {
		if slices.Contains(kinds, kind) && attributes[key] == "" {
			return invalid("The attribute %s is required for a service with %s records", key, kind)
		}
	}
	if a, err := netip.ParseAddr(attributes[ipv4]); attributes[ipv4] != "" && (err != nil || !a.Is4()) {
		return invalid("%s %s is no IPv4 address", ipv4, attributes[ipv4])
	}
	if a, err := netip.ParseAddr(attributes[ipv6]); attributes[ipv6] != "" && (err != nil || !a.Is6()) {
		return invalid("%s %s is no IPv6 address", ipv6, attributes[ipv6])
	}
	return nil
}

// deregisterInstance is API_DeregisterInstance.
func deregisterInstance(s *Server, in registerRequest) (any, *Fault) {
	v, fault := s.find(in.ServiceID)
	if fault != nil {
		return nil, fault
	}
	if fault := v.busy(in.InstanceID); fault != nil {
		return nil, fault
	}
	if _, known := v.Instances[in.InstanceID]; !known {
		return nil, &Fault{Status: 400, Code: "InstanceNotFound", Message: "No instance " + in.InstanceID}
	}
	id := s.begin(v, "DEREGISTER_INSTANCE", in.InstanceID, func() string {
		next := maps.Clone(v.Instances)
		delete(next, in.InstanceID)
		v.Instances = next
		s.revise(v)
		return ""
	})
	return map[string]any{"OperationId": id}, nil
}

// getOperation is API_GetOperation.
func getOperation(s *Server, in struct{ OperationID string }) (any, *Fault) {
	o := s.operations[in.OperationID]
	if o == nil {
		return nil, &Fault{Status: 400, Code: "OperationNotFound", Message: "No operation " + in.OperationID}
	}
	return map[string]any{"Operation": map[string]any{"Id": o.ID, "Type": o.Type, "Status": o.Status, "ErrorCode": o.ErrorCode, "ErrorMessage": o.ErrorMessage}}, nil
}

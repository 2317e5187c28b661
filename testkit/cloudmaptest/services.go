package cloudmaptest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// nameForm is the pattern of Name without its look-ahead (API_CreateService).
var nameForm = regexp.MustCompile(`^([a-zA-Z0-9_][a-zA-Z0-9-_]{0,61}[a-zA-Z0-9_]|[a-zA-Z0-9])(\.([a-zA-Z0-9_][a-zA-Z0-9-_]{0,61}[a-zA-Z0-9_]|[a-zA-Z0-9]))*$`)

const longestName = 127

func invalid(format string, arguments ...any) *Fault {
	return &Fault{Status: 400, Code: "InvalidInput", Message: fmt.Sprintf(format, arguments...)}
}

type createRequest struct {
	Name, CreatorRequestID, Description, NamespaceID string
	DNSConfig                                        *DNSConfig `json:"DnsConfig"`
	HealthCheckConfig                                *HealthCheckConfig
	Tags                                             []struct{ Key, Value string }
}

// createService is API_CreateService.
func createService(s *Server, in createRequest) (any, *Fault) {
	n, fault := s.namespace(in.NamespaceID)
	if fault != nil {
		return nil, fault
	}
	switch {
	case !nameForm.MatchString(in.Name) || len(in.Name) > longestName:
		return nil, invalid("Invalid service name: %s", in.Name)
	case utf8.RuneCountInString(in.Description) > 1024:
		return nil, invalid("Description must have length less than or equal to 1024")
	case n.Type == HTTP && in.DNSConfig != nil:
		return nil, invalid("DnsConfig can't be specified for HTTP namespaces")
	}
	if fault := checkConfig(in.DNSConfig, in.HealthCheckConfig); fault != nil {
		return nil, fault
	}
	if old := s.named(n.ID, in.Name); old != nil {
		if old.request == in.CreatorRequestID && old.request != "" && old.Description == in.Description {
			return map[string]any{"Service": old.detail()}, nil
		}
		return nil, &Fault{Status: 400, Code: "ServiceAlreadyExists", Message: "Service already exists.", More: map[string]string{"ServiceId": old.ID, "CreatorRequestId": old.request}}
	}
	v := &service{
		Service: Service{
			ID: fmt.Sprintf("srv-%d", s.number()), Namespace: n.ID, Name: in.Name, Description: in.Description, Config: in.DNSConfig, Health: in.HealthCheckConfig,
			Tags: map[string]string{}, Instances: map[string]map[string]string{},
		},
		request: in.CreatorRequestID, created: time.Now(), running: map[string]string{},
	}
	for _, t := range in.Tags {
		v.Tags[t.Key] = t.Value
	}
	s.services = append(s.services, v)
	return map[string]any{"Service": v.detail()}, nil
}

// checkConfig implements API_DnsConfig and API_DnsRecord.
func checkConfig(c *DNSConfig, health *HealthCheckConfig) *Fault {
	if c == nil {
		return nil
	}
	var kinds []string
	for _, r := range c.DNSRecords {
		kinds = append(kinds, r.Type)
		if r.TTL < 0 || r.TTL > math.MaxInt32 {
			return invalid("TTL %d is out of range", r.TTL)
		}
	}
	slices.Sort(kinds)
	switch together := strings.Join(kinds, " "); {
	case !slices.Contains([]string{"A", "AAAA", "A AAAA", "SRV", "CNAME"}, together):
		return invalid("Record types %s can't be combined", together)
	case together == "CNAME" && c.RoutingPolicy != "WEIGHTED":
		return invalid("The routing policy of a CNAME must be WEIGHTED")
	case together == "CNAME" && health != nil:
		return invalid("A service with CNAME can't have a health check")
	case !slices.Contains([]string{"", "WEIGHTED", "MULTIVALUE"}, c.RoutingPolicy):
		return invalid("Unknown routing policy %s", c.RoutingPolicy)
	}
	return nil
}

// detail is the response of GetService.
func (v *service) detail() map[string]any {
	return map[string]any{
		"Id": v.ID, "Name": v.Name, "NamespaceId": v.Namespace, "Description": v.Description, "DnsConfig": v.Config, "HealthCheckConfig": v.Health,
		"InstanceCount": len(v.Instances), "CreateDate": float64(v.created.Unix()), "CreatorRequestId": v.request,
	}
}

// getService is API_GetService.
func getService(s *Server, in struct{ ID string }) (any, *Fault) {
	v, fault := s.find(in.ID)
	if fault != nil {
		return nil, fault
	}
	return map[string]any{"Service": v.detail()}, nil
}

type updateRequest struct {
	ID      string
	Service struct {
		Description       *string
		DNSConfig         *DNSConfig `json:"DnsConfig"`
		HealthCheckConfig *HealthCheckConfig
	}
}

// updateService is API_UpdateService: TTLs may change, types may not, and omitted records are deleted.
func updateService(s *Server, in updateRequest) (any, *Fault) {
	v, fault := s.find(in.ID)
	if fault != nil {
		return nil, fault
	}
	if in.Service.Description != nil && utf8.RuneCountInString(*in.Service.Description) > 1024 {
		return nil, invalid("Description must have length less than or equal to 1024")
	}
	if v.Config == nil || in.Service.DNSConfig == nil || !sameTypes(v.Config, in.Service.DNSConfig) {
		return nil, invalid("The record type of a service can't be updated")
	}
	next := &DNSConfig{RoutingPolicy: v.Config.RoutingPolicy, DNSRecords: in.Service.DNSConfig.DNSRecords}
	if fault := checkConfig(next, in.Service.HealthCheckConfig); fault != nil {
		return nil, fault
	}
	id := s.begin(v, "UPDATE_SERVICE", "", func() string {
		v.Config, v.Health = next, in.Service.HealthCheckConfig
		if in.Service.Description != nil {
			v.Description = *in.Service.Description
		}
		return ""
	})
	return map[string]any{"OperationId": id}, nil
}

func sameTypes(a, b *DNSConfig) bool {
	list := func(c *DNSConfig) (kinds []string) {
		for _, r := range c.DNSRecords {
			kinds = append(kinds, r.Type)
		}
		slices.Sort(kinds)
		return kinds
	}
	return slices.Equal(list(a), list(b))
}

// deleteService is API_DeleteService.
func deleteService(s *Server, in struct{ ID string }) (any, *Fault) {
	v, fault := s.find(in.ID)
	if fault != nil {
		return nil, fault
	}
	if len(v.Instances) > 0 || len(v.running) > 0 {
		return nil, &Fault{Status: 400, Code: "ResourceInUse", Message: "Service contains registered instances; delete the instances before deleting the service"}
	}
	v.gone = time.Now()
	return map[string]any{}, nil
}

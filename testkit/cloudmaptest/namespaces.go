package cloudmaptest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The types of namespaces.
const (
	Public  = "DNS_PUBLIC"
	Private = "DNS_PRIVATE"
	HTTP    = "HTTP"
)

// Namespace is a namespace.
type Namespace struct {
	ID   string `json:"Id"`
	Name string
	Type string
}

// Record is a record type of a service.
type Record struct {
	Type string
	TTL  int64
}

// DNSConfig says which records a service creates.
type DNSConfig struct {
	RoutingPolicy string   `json:",omitempty"`
	DNSRecords    []Record `json:"DnsRecords"`
}

// HealthCheckConfig is a health check by Route 53.
type HealthCheckConfig struct {
	Type string
}

// Service is a service with its instances, by their IDs.
type Service struct {
	ID, Namespace, Name, Description string
	Config                           *DNSConfig
	Health                           *HealthCheckConfig
	Tags                             map[string]string
	Instances                        map[string]map[string]string
}

// service is a service in the server. Instances are replaced, and never changed.
type service struct {
	Service
	request  string
	created  time.Time
	revision int64
	// before are older revisions, with the times when they ended.
	before []pastRevision
	// gone is the time of deletion.
	gone time.Time
	// running are the unfinished operations, by instance.
	running map[string]string
}

type pastRevision struct {
	revision int64
	until    time.Time
}

// operation is an asynchronous operation.
type operation struct {
	ID, Type, Status, ErrorCode, ErrorMessage string
	ends                                      time.Time
	effect                                    func()
}

// AddNamespace adds a namespace.
func (s *Server) AddNamespace(n Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespaces = append(s.namespaces, &n)
}

// DeleteNamespace deletes a namespace with everything in it.
func (s *Server) DeleteNamespace(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespaces = slices.DeleteFunc(s.namespaces, func(n *Namespace) bool { return n.ID == id })
	s.services = slices.DeleteFunc(s.services, func(v *service) bool { return v.Namespace == id })
}

// Put adds a service, or replaces the one of its name, as another writer would.
func (s *Server) Put(v Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if old := s.named(v.Namespace, v.Name); old != nil {
		v.ID = old.ID
		old.Service = v
		s.revise(old)
		return
	}
	v.ID = fmt.Sprintf("srv-%d", s.number())
	s.services = append(s.services, &service{Service: v, created: time.Now().Add(-time.Hour), revision: 1, running: map[string]string{}})
}

// Remove deletes the service of a name with its instances, as another writer would.
func (s *Server) Remove(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if v := s.named(namespace, name); v != nil {
		v.gone = time.Now()
	}
}

// Services returns the services of a namespace, by their names.
func (s *Server) Services(namespace string) map[string]Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	all := map[string]Service{}
	for _, v := range s.services {
		if v.Namespace == namespace && v.gone.IsZero() {
			one := v.Service
			one.Instances = maps.Clone(v.Instances)
			all[v.Name] = one
		}
	}
	return all
}

// settle ends the operations that are due, in order.
func (s *Server) settle() {
	now := time.Now()
	var due []*operation
	for _, o := range s.operations {
		if o.effect != nil && !now.Before(o.ends) {
			due = append(due, o)
		}
	}
	slices.SortFunc(due, func(a, b *operation) int {
		if c := a.ends.Compare(b.ends); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, o := range due {
		o.effect()
		o.effect = nil
		if o.Status = "SUCCESS"; o.ErrorCode != "" {
			o.Status = "FAIL"
		}
	}
}

// begin starts an operation of a service, which has its effect when it ends.
func (s *Server) begin(v *service, kind, instance string, effect func() (code string)) string {
	o := &operation{ID: fmt.Sprintf("op-%012d", s.number()), Type: kind, Status: "SUBMITTED", ends: time.Now().Add(s.takes)}
	failure := ""
	if s.operation != nil {
		failure = s.operation(kind, instance)
	}
	o.effect = func() {
		delete(v.running, instance)
		if failure == "" {
			failure = effect()
		}
		if failure != "" {
			o.ErrorCode, o.ErrorMessage = failure, "as the test wants it"
		}
	}
	s.operations[o.ID] = o
	v.running[instance] = o.ID
	s.settle()
	return o.ID
}

// revise records that the instances of a service have changed.
func (s *Server) revise(v *service) {
	v.before = append(v.before, pastRevision{v.revision, time.Now().Add(s.dataLag)})
	v.revision++
}

// named returns the service of a name, or nil. Names are case-insensitive (API_CreateService).
func (s *Server) named(namespace, name string) *service {
	i := slices.IndexFunc(s.services, func(v *service) bool {
		return v.Namespace == namespace && strings.EqualFold(v.Name, name) && v.gone.IsZero()
	})
	if i < 0 {
		return nil
	}
	return s.services[i]
}

// find returns the service with an ID.
func (s *Server) find(id string) (*service, *Fault) {
	for _, v := range s.services {
		if v.ID == id && v.gone.IsZero() {
			return v, nil
		}
	}
	return nil, &Fault{Status: 400, Code: "ServiceNotFound", Message: "Service " + id + " not found."}
}

func (s *Server) namespace(id string) (*Namespace, *Fault) {
	for _, n := range s.namespaces {
		if n.ID == id {
			return n, nil
		}
	}
	return nil, &Fault{Status: 400, Code: "NamespaceNotFound", Message: "Namespace " + id + " not found."}
}

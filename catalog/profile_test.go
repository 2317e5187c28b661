package catalog

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// profileOptions are the options of all tests of profiles.
var profileOptions = Options{DefaultOpaquePorts: PortSet{{3306, 3306}}}

// profileCase is a query with its result after each step.
type profileCase struct {
	query ProfileQuery
	steps []profileStep
}

// profileStep is a change and the result after it.
type profileStep struct {
	put    []Object
	remove []Object
	want   string
}

// after puts objects.
func after(want string, put ...Object) profileStep { return profileStep{put: put, want: want} }

// deleted deletes objects.
func deleted(want string, remove ...Object) profileStep {
	return profileStep{remove: remove, want: want}
}

func queryService(name string, port uint16, edits ...func(*ProfileQuery)) ProfileQuery {
	return *edited(&ProfileQuery{Cluster: LocalCluster, Service: serviceKey(name), Port: port, ClusterDomain: "cluster.local"}, edits)
}

func queryIP(ip string, port uint16) ProfileQuery {
	return ProfileQuery{Cluster: LocalCluster, IP: netip.MustParseAddr(ip), Port: port, ClusterDomain: "cluster.local"}
}

func queryHostname(service, hostname string, port uint16) ProfileQuery {
	return queryService(service, port, func(q *ProfileQuery) { q.Hostname = hostname })
}

// from sets the namespace of the client.
func from(namespace string) func(*ProfileQuery) {
	return func(q *ProfileQuery) { q.ClientNamespace = namespace }
}

func clusterIPs(ips ...string) func(*Service) {
	return func(s *Service) { s.ClusterIPs = parseIPs(ips) }
}

func parseIPs(ips []string) []netip.Addr {
	var list []netip.Addr
	for _, ip := range ips {
		list = append(list, netip.MustParseAddr(ip))
	}
	return list
}

// opaqueAs sets the opaque-ports annotation of a Service.
func opaqueAs(list string) func(*Service) {
	return func(s *Service) {
		s.OpaquePorts = portsOf(list)
		for _, p := range s.Ports {
			*s.OpaquePorts = s.OpaquePorts.with(*portsOf(list, WorkloadPort{Name: p.Name, Port: p.Port}))
		}
	}
}

func ports(list ...ServicePort) func(*Service) { return func(s *Service) { s.Ports = list } }

func externalName(s *Service) { s.ExternalName = true }

// profileOf returns a ServiceProfile of a Service, in the namespace of the Service or another one.
func profileOf(service, namespace string) *ServiceProfile {
	return &ServiceProfile{Cluster: LocalCluster, Namespace: namespace, Name: service + "." + testNamespace + ".svc.cluster.local"}
}

// describeProfile returns a snapshot as text:
//
//	subject [Service] [address workload owner] [profile namespace] [opaque]
func describeProfile(s *ProfileSnapshot) string {
	result := []string{map[ProfileResult]string{
		NothingFound: "nothing", ServiceFound: "service", PortNotDeclared: "undeclared",
		ExternalNameFound: "external", EndpointFound: "endpoint", ConflictFound: "conflict",
	}[s.Result]}
	if s.Service.Name != "" {
		result = append(result, s.Service.Name)
	}
	if s.Endpoint.IsValid() {
		result = append(result, s.Endpoint.String())
	}
	if t := s.Target; t != nil {
		result = append(result, string(t.Key.Kind)+"/"+t.Key.Name)
		if t.OwnerKind != "" && t.OwnerKind != "pod" {
			result = append(result, t.OwnerKind+"/"+t.OwnerName)
		}
	}
	if s.Profile != nil {
		result = append(result, "profile "+s.Profile.Namespace)
	}
	if s.Opaque {
		result = append(result, "opaque")
	}
	return strings.Join(result, " ")
}

// runProfile applies the steps as a view would: a profile is queried again only when it is stale. In the end
// no object of the steps may be left.
func runProfile(t *testing.T, tc profileCase) {
	t.Helper()
	c, objects := New(profileOptions), map[ID]Object{}
	live := c.Profile(tc.query)
	for i, step := range tc.steps {
		for _, v := range step.remove {
			delete(objects, v.ID())
			c.Delete(v.ID())
		}
		for _, v := range step.put {
			objects[v.ID()] = v
		}
		apply(c, step.put...)
		if isClosed(live.Stale()) {
			live = c.Profile(tc.query)
		}
		if got := describeProfile(live); got != step.want {
			t.Errorf("step %d: the kept result is %q, want %q", i+1, got, step.want)
		}
		newcomer := c.Profile(tc.query)
		if got := describeProfile(newcomer); got != step.want {
			t.Errorf("step %d: a new result is %q, want %q", i+1, got, step.want)
		}
		newcomer.Release()
	}
	live.Release()
	for id := range objects {
		c.Delete(id)
	}
	c.step()
	if diff := cmp.Diff(map[string]int{}, profileSize(c)); diff != "" {
		t.Errorf("left after everything was deleted (-want +got):\n%s", diff)
	}
}

// profileSize counts the objects that the catalog keeps for profiles.
func profileSize(c *Catalog) map[string]int {
	m := map[string]int{}
	for name, n := range map[string]int{
		"watchers": len(c.state.dependencies.watchers), "stale": len(c.state.dependencies.stale), "profiles": len(c.state.profiles),
		"cluster IPs": len(c.state.addresses.services), "IPs": len(c.state.addresses.workloads), "host IPs": len(c.state.addresses.hosts),
	} {
		if n > 0 {
			m[name] = n
		}
	}
	return m
}

func runProfiles(t *testing.T, cases map[string]profileCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { runProfile(t, tc) })
	}
}

func TestProfileOfService(t *testing.T) {
	web := service("web", clusterIPs("10.96.0.1", "fd00::96"))
	west := service("web", clusterIPs("10.96.0.1"))
	west.Key.Cluster = "west"
	admin := ServicePort{"admin", 81, TCP}
	runProfiles(t, map[string]profileCase{
		"P2 by name":                      {queryService("web", 80), []profileStep{after("service web", web)}},
		"P5 P24 by cluster IP":            {queryIP("10.96.0.1", 80), []profileStep{after("service web", web)}},
		"P6 P24 by second IP":             {queryIP("fd00::96", 80), []profileStep{after("service web", web)}},
		"P24 unused IP":                   {queryIP("10.96.0.2", 80), []profileStep{after("endpoint 10.96.0.2:80", web)}},
		"IP of another cluster":           {queryIP("10.96.0.1", 80), []profileStep{after("endpoint 10.96.0.1:80", west), after("service web", web)}},
		"cluster IP before pod IP":        {queryIP("10.96.0.1", 80), []profileStep{after("service web", web, pod("a", runs("10.96.0.1")))}},
		"headless has a name only":        {queryService("web", 80), []profileStep{after("service web", service("web"))}},
		"P1 ExternalName":                 {queryService("web", 80), []profileStep{after("external web", service("web", externalName)), after("service web", web)}},
		"P1 ExternalName, no port":        {queryService("web", 81), []profileStep{after("undeclared web", service("web", externalName))}},
		"Q35 missing":                     {queryService("web", 80), []profileStep{after("nothing web"), after("service web", web), deleted("nothing web", web)}},
		"Q22 a port is added and removed": {queryService("web", 81), []profileStep{after("undeclared web", web), after("service web", service("web", ports(admin))), after("undeclared web", web)}},
		"Q22 by cluster IP":               {queryIP("10.96.0.1", 81), []profileStep{after("undeclared web", web), after("service web", service("web", clusterIPs("10.96.0.1"), ports(admin)))}},
		"Q22 no ports at all":             {queryService("web", 80), []profileStep{after("undeclared web", service("web", ports())), after("service web", web)}},
		"any protocol declares":           {queryService("web", 53), []profileStep{after("service web", service("web", ports(ServicePort{"dns", 53, UDP})))}},
		"the cluster IP moves":            {queryIP("10.96.0.1", 80), []profileStep{after("service web", web), {put: []Object{service("db", clusterIPs("10.96.0.1"))}, remove: []Object{web}, want: "service db"}}},
		"the cluster IP is given up":      {queryIP("10.96.0.1", 80), []profileStep{after("service web", web), after("endpoint 10.96.0.1:80", service("web"))}},
		"two have one cluster IP": {queryIP("10.96.0.1", 80), []profileStep{
			after("conflict", web, service("db", clusterIPs("10.96.0.1"))), deleted("service db", web), after("conflict", web), deleted("service web", service("db")),
		}},
		"one IP twice in a list":   {queryIP("10.96.0.1", 80), []profileStep{after("service web", service("web", clusterIPs("10.96.0.1", "10.96.0.1")))}},
		"an IPv4 address in IPv6":  {queryIP("::ffff:10.96.0.1", 80), []profileStep{after("service web", web)}},
		"gone under a cluster IP":  {queryIP("10.96.0.1", 80), []profileStep{after("service web", web), deleted("endpoint 10.96.0.1:80", web)}},
		"a Service of other names": {queryService("web", 80), []profileStep{after("nothing web", service("webs"), west)}},
	})
}

func TestProfileOfOtherNamespaces(t *testing.T) {
	web, own, clients := service("web", clusterIPs("10.96.0.1")), profileOf("web", testNamespace), profileOf("web", "client")
	ask := queryService("web", 80, from("client"))
	runProfiles(t, map[string]profileCase{
		"P4 the client's":                     {ask, []profileStep{after("service web profile client", web, clients)}},
		"P3 P4 for others the own":            {queryService("web", 80), []profileStep{after("service web profile ns", web, clients, own)}},
		"P4 by cluster IP":                    {edit(queryIP("10.96.0.1", 80), from("client")), []profileStep{after("service web profile client", web, clients, own)}},
		"T9 the client's takes precedence":    {ask, []profileStep{after("service web profile client", web, clients), after("service web profile client", own)}},
		"T10 the own, none of the client":     {ask, []profileStep{after("service web profile ns", web, own)}},
		"T11 the client's is deleted, no own": {ask, []profileStep{after("service web profile client", web, clients), deleted("service web", clients)}},
		"T12 the own is deleted":              {ask, []profileStep{after("service web profile ns", web, own), deleted("service web", own)}},
		"T13 both":                            {ask, []profileStep{after("service web profile client", web, own, clients)}},
		"T14 the own changes":                 {ask, []profileStep{after("service web profile client", web, own, clients), after("service web profile client", profileOf("web", testNamespace)), deleted("service web profile client", own)}},
		"T15 the client's is deleted":         {ask, []profileStep{after("service web profile client", web, own, clients), deleted("service web profile ns", clients), after("service web profile client", clients)}},
		"T21 is added and removed":            {queryService("web", 80), []profileStep{after("service web", web), after("service web profile ns", own), deleted("service web", own)}},
		"the client is a neighbour":           {queryService("web", 80, from(testNamespace)), []profileStep{after("service web profile ns", web, own, clients), deleted("service web", own)}},
		"another Service's":                   {ask, []profileStep{after("service web", web, profileOf("db", testNamespace), profileOf("db", "client"))}},
		"another domain's":                    {queryService("web", 80, func(q *ProfileQuery) { q.ClusterDomain = "example.com" }), []profileStep{after("service web", web, own)}},
	})
}

func edit[T any](v T, edits ...func(*T)) T { return *edited(&v, edits) }

func TestProfileServiceOpaque(t *testing.T) {
	opaque, plain := "service web opaque", "service web"
	ports := ports(ServicePort{"db", 3306, TCP}, ServicePort{"http", 80, TCP}, ServicePort{"tls", 665, TCP})
	with := func(list string) *Service { return service("web", ports, opaqueAs(list)) }
	bare := service("web", ports)
	runProfiles(t, map[string]profileCase{
		"T16 by default":           {queryService("web", 3306), []profileStep{after(opaque, bare), after(opaque, service("web", ports)), deleted("nothing web opaque", bare), after(opaque, bare)}},
		"T16 not by default":       {queryService("web", 80), []profileStep{after(plain, bare), deleted("nothing web", bare), after(plain, bare)}},
		"P18 T17 annotated":        {queryService("web", 80), []profileStep{after(opaque, with("80")), deleted("nothing web", bare), after(opaque, with("80"))}},
		"T17 others are not":       {queryService("web", 3306), []profileStep{after(plain, with("80")), deleted("nothing web opaque", bare), after(plain, with("80"))}},
		"T18 T25 two with a space": {queryService("web", 665), []profileStep{after(opaque, with("3306, 665"))}},
		"T19 by an update":         {queryService("web", 80), []profileStep{after(plain, bare), after(opaque, with("80")), after(plain, bare)}},
		"T20 empty":                {queryService("web", 3306), []profileStep{after(plain, with("")), deleted("nothing web opaque", bare), after(plain, with(""))}},
		"T25 a range":              {queryService("web", 80), []profileStep{after(opaque, with("70-90")), after(plain, with("81-90"))}},
		"T25 nonsense costs itself": {queryService("web", 80), []profileStep{
			after(opaque, with("x,80")), after(plain, with("90-70")), after(plain, with("nonsense")),
		}},
		"§3.4 a port's name":             {queryService("web", 665), []profileStep{after(opaque, with("tls")), after(plain, with("http"))}},
		"§3.4 undeclared is opaque too":  {queryService("web", 4000), []profileStep{after("undeclared web opaque", with("4000"))}},
		"§3.4 names of unnamed ports":    {queryService("web", 80), []profileStep{after(plain, service("web", opaqueAs(",,80-"), func(s *Service) { s.Ports[0].Name = "" }))}},
		"§3.4 a profile doesn't matter":  {queryService("web", 80), []profileStep{after("service web profile ns opaque", with("80"), profileOf("web", testNamespace))}},
		"P16 its pods don't matter":      {queryService("web", 80), []profileStep{after(plain, bare, pod("a", runs("10.0.0.1"), opaquePod("80")))}},
		"§3.4 a Server doesn't matter":   {queryService("web", 80), []profileStep{after(plain, bare, opaqueServer("s", 80, &Selector{}))}},
		"P16 nor do those of cluster IP": {queryIP("10.96.0.1", 80), []profileStep{after(plain, service("web", clusterIPs("10.96.0.1")), pod("a", runs("10.0.0.1"), opaquePod("80")))}},
	})
}

// A query that is repeated after the last snapshot was released has the same result (Q2).
func TestProfileQueriedAgain(t *testing.T) {
	c := New(profileOptions)
	apply(c, service("web", ports(ServicePort{"db", 3306, TCP})))
	for i := range 3 {
		s := c.Profile(queryService("web", 3306))
		if got := describeProfile(s); got != "service web opaque" {
			t.Errorf("client %d got %q", i+1, got)
		}
		s.Release()
		if n := len(c.state.dependencies.watchers); n != 0 {
			t.Errorf("client %d left %d watched dependencies", i+1, n)
		}
	}
}

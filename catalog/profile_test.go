package catalog

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// profileOptions are those of all tests about profiles.
var profileOptions = Options{DefaultOpaquePorts: PortSet{{3306, 3306}}}

// profileCase is a question and what the answer to it becomes with each step.
type profileCase struct {
	ask   ProfileQuery
	steps []profileStep
}

// profileStep is a change and the answer after it.
type profileStep struct {
	put    []Object
	remove []Object
	want   string
}

// now puts objects.
func now(want string, put ...Object) profileStep { return profileStep{put: put, want: want} }

// gone deletes objects.
func gone(want string, remove ...Object) profileStep { return profileStep{remove: remove, want: want} }

func askService(name string, port uint16, edits ...func(*ProfileQuery)) ProfileQuery {
	return *edited(&ProfileQuery{Cluster: LocalCluster, Service: serviceKey(name), Port: port, ClusterDomain: "cluster.local"}, edits)
}

func askIP(ip string, port uint16) ProfileQuery {
	return ProfileQuery{Cluster: LocalCluster, IP: netip.MustParseAddr(ip), Port: port, ClusterDomain: "cluster.local"}
}

func askHostname(service, hostname string, port uint16) ProfileQuery {
	return askService(service, port, func(q *ProfileQuery) { q.Hostname = hostname })
}

// from asks on behalf of a client in the namespace.
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

// opaqueAs annotates a Service.
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

// profileOf returns a ServiceProfile of a Service, in the Service's or another namespace.
func profileOf(service, namespace string) *ServiceProfile {
	return &ServiceProfile{Cluster: LocalCluster, Namespace: namespace, Name: service + "." + testNamespace + ".svc.cluster.local"}
}

// describeProfile returns a snapshot as text:
//
//	subject [Service] [address workload owner] [profile namespace] [opaque]
func describeProfile(s *ProfileSnapshot) string {
	said := []string{map[ProfileSubject]string{
		NothingFound: "nothing", ServiceFound: "service", PortNotDeclared: "undeclared",
		ExternalNameFound: "external", EndpointFound: "endpoint", ConflictFound: "conflict",
	}[s.Subject]}
	if s.Service.Name != "" {
		said = append(said, s.Service.Name)
	}
	if s.Endpoint.IsValid() {
		said = append(said, s.Endpoint.String())
	}
	if t := s.Target; t != nil {
		said = append(said, string(t.Key.Kind)+"/"+t.Key.Name)
		if t.OwnerKind != "" && t.OwnerKind != "pod" {
			said = append(said, t.OwnerKind+"/"+t.OwnerName)
		}
	}
	if s.Profile != nil {
		said = append(said, "profile "+s.Profile.Namespace)
	}
	if s.Opaque {
		said = append(said, "opaque")
	}
	return strings.Join(said, " ")
}

// runProfile applies the steps as a view would: a profile is requested again only when it is stale. In the
// end no object of the steps may be left.
func runProfile(t *testing.T, tc profileCase) {
	t.Helper()
	c, objects := New(profileOptions), map[ID]Object{}
	live := c.Profile(tc.ask)
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
			live = c.Profile(tc.ask)
		}
		if got := describeProfile(live); got != step.want {
			t.Errorf("step %d: the live answer is %q, want %q", i+1, got, step.want)
		}
		newcomer := c.Profile(tc.ask)
		if got := describeProfile(newcomer); got != step.want {
			t.Errorf("step %d: a new answer is %q, want %q", i+1, got, step.want)
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

// profileSize counts what the catalog holds for profiles.
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
		"P2 by name":                 {askService("web", 80), []profileStep{now("service web", web)}},
		"P5 P24 by cluster IP":       {askIP("10.96.0.1", 80), []profileStep{now("service web", web)}},
		"P6 P24 by second IP":        {askIP("fd00::96", 80), []profileStep{now("service web", web)}},
		"P24 IP of nobody":           {askIP("10.96.0.2", 80), []profileStep{now("endpoint 10.96.0.2:80", web)}},
		"IP of another cluster":      {askIP("10.96.0.1", 80), []profileStep{now("endpoint 10.96.0.1:80", west), now("service web", web)}},
		"cluster IP before pod IP":   {askIP("10.96.0.1", 80), []profileStep{now("service web", web, pod("a", runs("10.96.0.1")))}},
		"headless has a name only":   {askService("web", 80), []profileStep{now("service web", service("web"))}},
		"P1 ExternalName":            {askService("web", 80), []profileStep{now("external web", service("web", externalName)), now("service web", web)}},
		"P1 ExternalName, no port":   {askService("web", 81), []profileStep{now("undeclared web", service("web", externalName))}},
		"Q35 missing":                {askService("web", 80), []profileStep{now("nothing web"), now("service web", web), gone("nothing web", web)}},
		"Q22 a port comes and goes":  {askService("web", 81), []profileStep{now("undeclared web", web), now("service web", service("web", ports(admin))), now("undeclared web", web)}},
		"Q22 by cluster IP":          {askIP("10.96.0.1", 81), []profileStep{now("undeclared web", web), now("service web", service("web", clusterIPs("10.96.0.1"), ports(admin)))}},
		"Q22 no ports at all":        {askService("web", 80), []profileStep{now("undeclared web", service("web", ports())), now("service web", web)}},
		"any protocol declares":      {askService("web", 53), []profileStep{now("service web", service("web", ports(ServicePort{"dns", 53, UDP})))}},
		"the cluster IP moves":       {askIP("10.96.0.1", 80), []profileStep{now("service web", web), {put: []Object{service("db", clusterIPs("10.96.0.1"))}, remove: []Object{web}, want: "service db"}}},
		"the cluster IP is given up": {askIP("10.96.0.1", 80), []profileStep{now("service web", web), now("endpoint 10.96.0.1:80", service("web"))}},
		"two have one cluster IP": {askIP("10.96.0.1", 80), []profileStep{
			now("conflict", web, service("db", clusterIPs("10.96.0.1"))), gone("service db", web), now("conflict", web), gone("service web", service("db")),
		}},
		"one IP twice in a list":   {askIP("10.96.0.1", 80), []profileStep{now("service web", service("web", clusterIPs("10.96.0.1", "10.96.0.1")))}},
		"an IPv4 address in IPv6":  {askIP("::ffff:10.96.0.1", 80), []profileStep{now("service web", web)}},
		"gone under a cluster IP":  {askIP("10.96.0.1", 80), []profileStep{now("service web", web), gone("endpoint 10.96.0.1:80", web)}},
		"a Service of other names": {askService("web", 80), []profileStep{now("nothing web", service("webs"), west)}},
	})
}

func TestProfileOfOtherNamespaces(t *testing.T) {
	web, own, clients := service("web", clusterIPs("10.96.0.1")), profileOf("web", testNamespace), profileOf("web", "client")
	ask := askService("web", 80, from("client"))
	runProfiles(t, map[string]profileCase{
		"P4 the client's":                 {ask, []profileStep{now("service web profile client", web, clients)}},
		"P3 P4 for others the own":        {askService("web", 80), []profileStep{now("service web profile ns", web, clients, own)}},
		"P4 by cluster IP":                {edit(askIP("10.96.0.1", 80), from("client")), []profileStep{now("service web profile client", web, clients, own)}},
		"T9 the client's comes first":     {ask, []profileStep{now("service web profile client", web, clients), now("service web profile client", own)}},
		"T10 the own, none of the client": {ask, []profileStep{now("service web profile ns", web, own)}},
		"T11 the client's goes, no own":   {ask, []profileStep{now("service web profile client", web, clients), gone("service web", clients)}},
		"T12 the own goes":                {ask, []profileStep{now("service web profile ns", web, own), gone("service web", own)}},
		"T13 both":                        {ask, []profileStep{now("service web profile client", web, own, clients)}},
		"T14 the own changes":             {ask, []profileStep{now("service web profile client", web, own, clients), now("service web profile client", profileOf("web", testNamespace)), gone("service web profile client", own)}},
		"T15 the client's goes":           {ask, []profileStep{now("service web profile client", web, own, clients), gone("service web profile ns", clients), now("service web profile client", clients)}},
		"T21 comes and goes":              {askService("web", 80), []profileStep{now("service web", web), now("service web profile ns", own), gone("service web", own)}},
		"the client is a neighbour":       {askService("web", 80, from(testNamespace)), []profileStep{now("service web profile ns", web, own, clients), gone("service web", own)}},
		"another Service's":               {ask, []profileStep{now("service web", web, profileOf("db", testNamespace), profileOf("db", "client"))}},
		"another domain's":                {askService("web", 80, func(q *ProfileQuery) { q.ClusterDomain = "example.com" }), []profileStep{now("service web", web, own)}},
	})
}

func edit[T any](v T, edits ...func(*T)) T { return *edited(&v, edits) }

func TestProfileServiceOpaque(t *testing.T) {
	opaque, plain := "service web opaque", "service web"
	ports := ports(ServicePort{"db", 3306, TCP}, ServicePort{"http", 80, TCP}, ServicePort{"tls", 665, TCP})
	with := func(list string) *Service { return service("web", ports, opaqueAs(list)) }
	bare := service("web", ports)
	runProfiles(t, map[string]profileCase{
		"T16 by default":           {askService("web", 3306), []profileStep{now(opaque, bare), now(opaque, service("web", ports)), gone("nothing web opaque", bare), now(opaque, bare)}},
		"T16 not by default":       {askService("web", 80), []profileStep{now(plain, bare), gone("nothing web", bare), now(plain, bare)}},
		"P18 T17 annotated":        {askService("web", 80), []profileStep{now(opaque, with("80")), gone("nothing web", bare), now(opaque, with("80"))}},
		"T17 others are not":       {askService("web", 3306), []profileStep{now(plain, with("80")), gone("nothing web opaque", bare), now(plain, with("80"))}},
		"T18 T25 two with a space": {askService("web", 665), []profileStep{now(opaque, with("3306, 665"))}},
		"T19 by an update":         {askService("web", 80), []profileStep{now(plain, bare), now(opaque, with("80")), now(plain, bare)}},
		"T20 empty":                {askService("web", 3306), []profileStep{now(plain, with("")), gone("nothing web opaque", bare), now(plain, with(""))}},
		"T25 a range":              {askService("web", 80), []profileStep{now(opaque, with("70-90")), now(plain, with("81-90"))}},
		"T25 nonsense costs itself": {askService("web", 80), []profileStep{
			now(opaque, with("x,80")), now(plain, with("90-70")), now(plain, with("nonsense")),
		}},
		"§3.4 a port's name":             {askService("web", 665), []profileStep{now(opaque, with("tls")), now(plain, with("http"))}},
		"§3.4 undeclared is opaque too":  {askService("web", 4000), []profileStep{now("undeclared web opaque", with("4000"))}},
		"§3.4 names of unnamed ports":    {askService("web", 80), []profileStep{now(plain, service("web", opaqueAs(",,80-"), func(s *Service) { s.Ports[0].Name = "" }))}},
		"§3.4 a profile doesn't matter":  {askService("web", 80), []profileStep{now("service web profile ns opaque", with("80"), profileOf("web", testNamespace))}},
		"P16 its pods don't matter":      {askService("web", 80), []profileStep{now(plain, bare, pod("a", runs("10.0.0.1"), opaquePod("80")))}},
		"§3.4 a Server doesn't matter":   {askService("web", 80), []profileStep{now(plain, bare, opaqueServer("s", 80, &Selector{}))}},
		"P16 nor do those of cluster IP": {askIP("10.96.0.1", 80), []profileStep{now(plain, service("web", clusterIPs("10.96.0.1")), pod("a", runs("10.0.0.1"), opaquePod("80")))}},
	})
}

// Q2: a question that is asked again after nobody asked it gets the same answer.
func TestProfileAfterTheLast(t *testing.T) {
	c := New(profileOptions)
	apply(c, service("web", ports(ServicePort{"db", 3306, TCP})))
	for i := range 3 {
		s := c.Profile(askService("web", 3306))
		if got := describeProfile(s); got != "service web opaque" {
			t.Errorf("client %d is told %q", i+1, got)
		}
		s.Release()
		if n := len(c.state.dependencies.watchers); n != 0 {
			t.Errorf("client %d left %d watched facts", i+1, n)
		}
	}
}

package catalog

import (
	"net/netip"
	"testing"
	"time"
)

func runs(ips ...string) func(*Workload) {
	return func(w *Workload) { w.IPs, w.Running = parseIPs(ips), true }
}

func pending(w *Workload)     { w.Running = false }
func finished(w *Workload)    { w.Running, w.Finished = false, true }
func readied(w *Workload)     { w.Ready = true }
func terminating(w *Workload) { w.Terminating = true }

// onHost gives a pod ports on hosts; the ports of its own that they lead to are higher by 1000.
func onHost(ip string, hostPorts ...uint16) func(*Workload) {
	return func(w *Workload) {
		w.HostIPs = parseIPs([]string{ip})
		for _, p := range hostPorts {
			w.Ports = append(w.Ports, WorkloadPort{Name: "mapped", Port: p + 1000, HostPort: p})
		}
	}
}

// mappedAt maps the ports at one address of the host.
func mappedAt(ip string) func(*Workload) {
	return func(w *Workload) {
		for i := range w.Ports {
			w.Ports[i].HostIP = netip.MustParseAddr(ip)
		}
	}
}

// opaquePod annotates a workload.
func opaquePod(list string) func(*Workload) {
	return func(w *Workload) { w.OpaquePorts = portsOf(list, w.Ports...) }
}

func declares(name string, port uint16) func(*Workload) {
	return func(w *Workload) { w.Ports = append(w.Ports, WorkloadPort{Name: name, Port: port}) }
}

func born(at int64) func(*Workload) { return func(w *Workload) { w.Created = time.Unix(at, 0) } }

func vm(name, ip string, edits ...func(*Workload)) *Workload {
	return workload(externalKey(name), append([]func(*Workload){func(w *Workload) { w.IPs = parseIPs([]string{ip}) }, declares("http", 80)}, edits...)...)
}

func TestProfileOfPodIP(t *testing.T) {
	const bare, a = "endpoint 10.0.0.1:80", "endpoint 10.0.0.1:80 Pod/a"
	ask, podA := askIP("10.0.0.1", 80), pod("a", runs("10.0.0.1"))
	foreign := pod("a", runs("10.0.0.1"))
	foreign.Key.Cluster = "west"
	runProfiles(t, map[string]profileCase{
		"P13 P22 an IP of nobody":         {ask, []profileStep{now(bare)}},
		"P14 P22 opaque by default":       {askIP("10.0.0.1", 3306), []profileStep{now("endpoint 10.0.0.1:3306 opaque"), now("endpoint 10.0.0.1:3306 Pod/a opaque", podA)}},
		"P8 its IP":                       {ask, []profileStep{now(a, podA), gone(bare, podA)}},
		"P9 its second IP":                {askIP("fd00::1", 80), []profileStep{now("endpoint [fd00::1]:80 Pod/a", pod("a", runs("10.0.0.1", "fd00::1")))}},
		"Q5 undeclared ports":             {askIP("10.0.0.1", 9999), []profileStep{now("endpoint 10.0.0.1:9999"), now("endpoint 10.0.0.1:9999 Pod/a", podA), gone("endpoint 10.0.0.1:9999", podA)}},
		"§3.6 in the network of its host": {ask, []profileStep{now(bare, pod("a", runs("10.0.0.1"), func(w *Workload) { w.HostNetwork = true }))}},
		"§3.6 leaves that network":        {ask, []profileStep{now(bare, pod("a", runs("10.0.0.1"), func(w *Workload) { w.HostNetwork = true })), now(a, podA)}},
		"P10 P11 Pending, then Running":   {ask, []profileStep{now(bare, pod("a", runs("10.0.0.1"), pending)), now(a, podA)}},
		"P10 Pending, its list unknown":   {ask, []profileStep{now(bare, pod("a", runs("10.0.0.1"), pending, opaquePod("80"))), now(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80")))}},
		"P10 stops running":               {ask, []profileStep{now(a, podA), now(bare, pod("a", runs("10.0.0.1"), pending))}},
		"P14 finished":                    {ask, []profileStep{now(bare, pod("a", runs("10.0.0.1"), finished)), now("endpoint 10.0.0.1:80 Pod/b", pod("b", runs("10.0.0.1")))}},
		"P14 others that are over": {ask, []profileStep{now(
			a, podA, pod("b", runs("10.0.0.1"), finished), pod("c", runs("10.0.0.1"), terminating), pod("d", runs("10.0.0.1"), finished, terminating),
		)}},
		"§3.6 deletion begins":                      {ask, []profileStep{now(a, podA), now(a, pod("a", runs("10.0.0.1"), terminating)), gone(bare, podA)}},
		"§3.6 of two terminating the new":           {ask, []profileStep{now("endpoint 10.0.0.1:80 Pod/b", pod("a", runs("10.0.0.1"), terminating, born(1)), pod("b", runs("10.0.0.1"), terminating, born(2)))}},
		"§3.6 of two terminating the one that runs": {ask, []profileStep{now(a, pod("a", runs("10.0.0.1"), terminating, born(1)), pod("b", runs("10.0.0.1"), terminating, pending, born(2)))}},
		"P25 two pods":                              {ask, []profileStep{now("conflict", podA, pod("b", runs("10.0.0.1"))), gone("endpoint 10.0.0.1:80 Pod/b", podA)}},
		// mesh finding 5: the pod that is ready, runs or is younger has the address, as in answers about Services.
		"P25 one of them Pending":          {ask, []profileStep{now(a, podA, pod("b", runs("10.0.0.1"), pending, born(9)))}},
		"mesh finding 5 the younger":       {ask, []profileStep{now(a, podA), now("endpoint 10.0.0.1:80 Pod/b", pod("b", runs("10.0.0.1"), born(9))), gone(a, pod("b"))}},
		"mesh finding 5 the one ready":     {ask, []profileStep{now("endpoint 10.0.0.1:80 Pod/b", podA, pod("b", runs("10.0.0.1"), born(9))), now(a, pod("a", runs("10.0.0.1"), readied))}},
		"mesh finding 5 both become ready": {ask, []profileStep{now(a, pod("a", runs("10.0.0.1"), readied), pod("b", runs("10.0.0.1"), born(9))), now("endpoint 10.0.0.1:80 Pod/b", pod("b", runs("10.0.0.1"), born(9), readied))}},
		"Q6 the IP is used again": {ask, []profileStep{
			now(a, podA), now("endpoint 10.0.0.1:80 Pod/b", pod("a", runs("10.0.0.1"), terminating), pod("b", runs("10.0.0.1"))), gone("endpoint 10.0.0.1:80 Pod/b", podA),
		}},
		"Q6 the pod is edited":      {ask, []profileStep{now(a, podA), now(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80"))), now(a, podA)}},
		"Q6 the pod is replaced":    {ask, []profileStep{now(a, podA), {put: []Object{pod("b", runs("10.0.0.1"))}, remove: []Object{podA}, want: "endpoint 10.0.0.1:80 Pod/b"}}},
		"the pod has another IP":    {ask, []profileStep{now(a, podA), now(bare, pod("a", runs("10.0.0.2"))), now(a, podA)}},
		"P17 annotated":             {ask, []profileStep{now(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80")))}},
		"T22 annotated with names":  {ask, []profileStep{now(a+" opaque", pod("a", runs("10.0.0.1"), declares("http", 80), declares("sidecar", 81), opaquePod("sidecar,http")))}},
		"P14 annotated with none":   {askIP("10.0.0.1", 3306), []profileStep{now("endpoint 10.0.0.1:3306 Pod/a", pod("a", runs("10.0.0.1"), opaquePod("")))}},
		"a pod of another cluster":  {ask, []profileStep{now(bare, foreign)}},
		"one IP twice in its list":  {ask, []profileStep{now(a, pod("a", runs("10.0.0.1", "10.0.0.1"))), gone(bare, podA)}},
		"a pod before a host's":     {ask, []profileStep{now(a, podA, pod("b", runs("10.0.0.9"), onHost("10.0.0.1", 80)))}},
		"a pod before a workload's": {ask, []profileStep{now(a, podA, vm("vm", "10.0.0.1")), gone("endpoint 10.0.0.1:80 ExternalWorkload/vm", podA)}},
	})
}

func TestProfileOfHostPort(t *testing.T) {
	const bare, a, b = "endpoint 192.168.0.1:80", "endpoint 192.168.0.1:80 Pod/a", "endpoint 192.168.0.1:80 Pod/b"
	ask, podA, podB := askIP("192.168.0.1", 80), pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80, 81)), pod("b", runs("10.0.0.2"), onHost("192.168.0.1", 80))
	runProfiles(t, map[string]profileCase{
		"P23 P25 one of two":      {ask, []profileStep{now(a, podA)}},
		"P25 the other one":       {askIP("192.168.0.1", 81), []profileStep{now("endpoint 192.168.0.1:81 Pod/a", podA)}},
		"P25 a port not mapped":   {askIP("192.168.0.1", 82), []profileStep{now("endpoint 192.168.0.1:82", podA)}},
		"P25 the container's own": {askIP("192.168.0.1", 1080), []profileStep{now("endpoint 192.168.0.1:1080", podA)}},
		"P25 another host":        {askIP("192.168.0.2", 80), []profileStep{now("endpoint 192.168.0.2:80", podA)}},
		"P23 another pod follows": {ask, []profileStep{
			now(a, podA), gone(bare, podA), now(b, podB), now(b+" opaque", opaqueNamed("s", "mapped")),
		}},
		"P23 the next is there early": {ask, []profileStep{
			now(a, podA), now(b, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), terminating), podB), gone(b, podA),
		}},
		"P25 two at once":                 {ask, []profileStep{now("conflict", podA, podB), gone(a, podB)}},
		"P14 one of them is over":         {ask, []profileStep{now(a, podA, pod("b", runs("10.0.0.2"), onHost("192.168.0.1", 80), finished))}},
		"§3.6 in the network of its host": {ask, []profileStep{now(a, pod("a", runs("192.168.0.1"), onHost("192.168.0.1", 80), func(w *Workload) { w.HostNetwork = true }))}},
		"P10 Pending":                     {ask, []profileStep{now(bare, pod("a", runs(), onHost("192.168.0.1", 80), pending)), now(a, podA)}},
		"Q17 a Server names its port":     {ask, []profileStep{now(a, podA), now(a+" opaque", opaqueNamed("s", "mapped")), gone(a, opaqueNamed("s", "mapped"))}},
		// mesh finding 1: Servers and annotations are about the ports of the pod.
		"mesh finding 1 a Server numbers its port": {ask, []profileStep{now(a, podA), now(a+" opaque", opaqueServer("s", 1080, &Selector{})), now(a, opaqueServer("s", 80, &Selector{}))}},
		"mesh finding 1 annotated":                 {ask, []profileStep{now(a+" opaque", pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), opaquePod("1080"))), now(a, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), opaquePod("80")))}},
		// mesh finding 6: two pods may map one port at different addresses of their host.
		"mesh finding 6 mapped at another address": {ask, []profileStep{
			now(bare, pod("b", runs("10.0.0.2"), onHost("192.168.0.1", 80), mappedAt("127.0.0.1"))), now(a, podA), now(a, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), mappedAt("192.168.0.1"))),
		}},
		"mesh finding 6 at all of IPv4":    {ask, []profileStep{now(a, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), mappedAt("0.0.0.0")))}},
		"mesh finding 6 at all of IPv6":    {ask, []profileStep{now(bare, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), mappedAt("::")))}},
		"the port is no longer mapped":     {ask, []profileStep{now(a, podA), now(bare, pod("a", runs("10.0.0.1")))}},
		"a pod's host before a workload's": {ask, []profileStep{now(a, podA, vm("vm", "192.168.0.1"))}},
	})
}

// opaqueNamed returns a Server for the port of that name of all pods.
func opaqueNamed(name, port string) *Server {
	s := opaqueServer(name, 0, &Selector{})
	s.PortName = port
	return s
}

func TestProfileOfExternalWorkload(t *testing.T) {
	const bare, own = "endpoint 10.1.0.1:80", "endpoint 10.1.0.1:80 ExternalWorkload/vm"
	ask := askIP("10.1.0.1", 80)
	runProfiles(t, map[string]profileCase{
		"P12":                        {ask, []profileStep{now(bare), now(own, vm("vm", "10.1.0.1")), gone(bare, vm("vm", "10.1.0.1"))}},
		"P12 ready or not":           {ask, []profileStep{now(own, vm("vm", "10.1.0.1", pending))}},
		"P12 a port not declared":    {askIP("10.1.0.1", 81), []profileStep{now("endpoint 10.1.0.1:81", vm("vm", "10.1.0.1")), now("endpoint 10.1.0.1:81 ExternalWorkload/vm", vm("vm", "10.1.0.1", declares("admin", 81)))}},
		"P20 annotated":              {ask, []profileStep{now(own+" opaque", vm("vm", "10.1.0.1", opaquePod("80"))), now(own, vm("vm", "10.1.0.1"))}},
		"P21 Q4 a Server":            {ask, []profileStep{now(own, vm("vm", "10.1.0.1")), now(own+" opaque", externalServer("s", &Selector{})), gone(own, externalServer("s", nil))}},
		"P21 not a Server for pods":  {ask, []profileStep{now(own, vm("vm", "10.1.0.1"), opaqueServer("s", 80, &Selector{}))}},
		"§3.6 two have it":           {ask, []profileStep{now("conflict", vm("vm", "10.1.0.1"), vm("box", "10.1.0.1")), gone(own, vm("box", "10.1.0.1"))}},
		"§3.6 two, different ports":  {ask, []profileStep{now(own, vm("vm", "10.1.0.1"), workload(externalKey("box"), runs("10.1.0.1"), declares("x", 81)))}},
		"§3.6 the IP changes":        {ask, []profileStep{now(own, vm("vm", "10.1.0.1")), now(bare, vm("vm", "10.1.0.2"))}},
		"§A.4 an owner of its own":   {ask, []profileStep{now(own+" group/g", vm("vm", "10.1.0.1", owned("Group", "g")))}},
		"a Service's cluster IP too": {ask, []profileStep{now("service web", vm("vm", "10.1.0.1"), service("web", clusterIPs("10.1.0.1")))}},
	})
}

func TestProfileOfHostname(t *testing.T) {
	const bare, a = "endpoint web 10.0.0.1:80", "endpoint web 10.0.0.1:80 Pod/a"
	ask, podA := askHostname("web", "web-0", 80), pod("a", runs("10.0.0.1"))
	named := func(ip string, target WorkloadKey, edits ...func(*SliceEndpoint)) SliceEndpoint {
		return at(ip, target, append(edits, func(e *SliceEndpoint) { e.Hostname = "web-0" })...)
	}
	notReady := func(e *SliceEndpoint) { e.NotReady = true }
	uid := func(id UID) func(*SliceEndpoint) { return func(e *SliceEndpoint) { e.TargetUID = id } }
	identified := func(id UID) func(*Workload) { return func(w *Workload) { w.UID = id } }
	one := slice("s", "web", IPv4, at("10.0.0.9", WorkloadKey{}), named("10.0.0.1", podKey("a")))
	runProfiles(t, map[string]profileCase{
		"P7":                       {ask, []profileStep{now("nothing web"), now(a, one, podA), gone("nothing web", one)}},
		"P7 not ready":             {ask, []profileStep{now(a, podA, slice("s", "web", IPv4, named("10.0.0.1", podKey("a"), notReady)))}},
		"P7 another hostname":      {askHostname("web", "web-1", 80), []profileStep{now("nothing web", one, podA)}},
		"P7 another Service":       {askHostname("db", "web-0", 80), []profileStep{now("nothing db", one, podA)}},
		"§3.1 the pod's own IP":    {ask, []profileStep{now("endpoint web 10.0.0.7:80 Pod/a", one, pod("a", runs("10.0.0.7")))}},
		"Q23 the pod's IP changes": {ask, []profileStep{now(a, one, podA), now("endpoint web 10.0.0.7:80 Pod/a", pod("a", runs("10.0.0.7")))}},
		"Q23 another pod has it":   {ask, []profileStep{now(a, one, podA), now("endpoint web 10.0.0.2:80 Pod/b", pod("b", runs("10.0.0.2")), slice("s", "web", IPv4, named("10.0.0.2", podKey("b"))))}},
		// mesh finding 4: a pod that is gone is no bare address, which another pod may have.
		"mesh finding 4 the pod is missing": {ask, []profileStep{now("nothing web", one), now(a, podA), gone("nothing web", podA)}},
		"mesh finding 4 it is another one":  {ask, []profileStep{now("nothing web", slice("s", "web", IPv4, named("10.0.0.1", podKey("a"), uid(1))), pod("a", runs("10.0.0.7"), identified(2))), now(a, pod("a", runs("10.0.0.1"), identified(1)))}},
		"mesh finding 4 it has ended":       {ask, []profileStep{now(a, one, podA), now("nothing web", pod("a", runs("10.0.0.1"), finished))}},
		"mesh finding 4 another is there": {ask, []profileStep{now(
			"endpoint web 10.0.0.2:80 Pod/b", pod("b", runs("10.0.0.2")), one, slice("t", "web", IPv4, named("10.0.0.2", podKey("b"), notReady)),
		), now(a, podA)}},
		// mesh finding 18: the names that CoreDNS gives to endpoints without a hostname.
		"mesh finding 18 dashes":            {askHostname("web", "10-0-0-1", 80), []profileStep{now(a, podA, slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))))}},
		"mesh finding 18 dashes of IPv6":    {askHostname("web", "fd00--1", 80), []profileStep{now("endpoint web [fd00::1]:80 Pod/a", pod("a", runs("10.0.0.1", "fd00::1")), slice("s", "web", IPv6, at("fd00::1", podKey("a"))))}},
		"mesh finding 18 it has a hostname": {askHostname("web", "10-0-0-1", 80), []profileStep{now("nothing web", podA, one)}},
		"P10 the pod is Pending":            {ask, []profileStep{now(bare, one, pod("a", runs("10.0.0.1"), pending)), now(a, podA)}},
		"Q7 no target":                      {ask, []profileStep{now(bare, slice("s", "web", IPv4, named("10.0.0.1", WorkloadKey{})))}},
		"Q7 an ExternalWorkload":            {ask, []profileStep{now("endpoint web 10.1.0.1:80 ExternalWorkload/vm", vm("vm", "10.1.0.1"), slice("s", "web", IPv4, named("10.1.0.1", externalKey("vm"))))}},
		"Q7 one of its addresses":           {ask, []profileStep{now("endpoint web [fd00::7]:80 ExternalWorkload/vm", vm("vm", "10.1.0.1", runs("10.1.0.1", "fd00::7")), slice("s", "web", IPv6, named("fd00::7", externalKey("vm"))))}},
		"of several the one ready":          {ask, []profileStep{now(a, podA, slice("s", "web", IPv4, named("10.0.0.3", WorkloadKey{}, notReady)), slice("t", "web", IPv4, named("10.0.0.1", podKey("a"))))}},
		"of several ready the first":        {ask, []profileStep{now(a, podA, slice("s", "web", IPv4, named("10.0.0.1", podKey("a"))), slice("t", "web", IPv4, named("10.0.0.3", WorkloadKey{})))}},
		"an endpoint without address":       {ask, []profileStep{now("nothing web", slice("s", "web", IPv4, SliceEndpoint{Hostname: "web-0"}))}},
		"P21 a Server":                      {ask, []profileStep{now(a, one, podA), now(a+" opaque", opaqueServer("s", 80, &Selector{})), gone(a, opaqueServer("s", 0, nil))}},
	})
}

func TestProfileOfServersAndOwners(t *testing.T) {
	const a = "endpoint 10.0.0.1:80 Pod/a"
	ask := askIP("10.0.0.1", 80)
	plain := pod("a", runs("10.0.0.1"), labelled("app", "web"), declares("http", 80))
	owner1, owner2 := owner("ReplicaSet", "rs", OwnerRef{"Deployment", "web"}), owner("ReplicaSet", "rs", OwnerRef{})
	foreign := opaqueServer("s", 80, &Selector{})
	foreign.Namespace = "other"
	transparent := opaqueServer("s", 80, &Selector{})
	transparent.Opaque = false
	runProfiles(t, map[string]profileCase{
		"P21 Q3 comes and goes":       {ask, []profileStep{now(a, plain), now(a+" opaque", opaqueServer("s", 80, &Selector{})), gone(a, transparent)}},
		"P21 before the pod":          {ask, []profileStep{now("endpoint 10.0.0.1:80", opaqueServer("s", 80, &Selector{})), now(a+" opaque", plain)}},
		"Q3 no longer opaque":         {ask, []profileStep{now(a+" opaque", plain, opaqueServer("s", 80, &Selector{})), now(a, transparent)}},
		"Q3 selects another":          {ask, []profileStep{now(a+" opaque", plain, opaqueServer("s", 80, having("app", "web"))), now(a, opaqueServer("s", 80, having("app", "db")))}},
		"Q3 another port":             {ask, []profileStep{now(a+" opaque", plain, opaqueServer("s", 80, &Selector{})), now(a, opaqueServer("s", 81, &Selector{}))}},
		"Q3 an annotation remains":    {ask, []profileStep{now(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80")), opaqueServer("s", 80, &Selector{})), gone(a+" opaque", transparent)}},
		"Q16 one of two goes":         {ask, []profileStep{now(a+" opaque", plain, opaqueServer("s", 80, &Selector{}), opaqueServer("r", 80, &Selector{})), gone(a+" opaque", transparent), gone(a, opaqueServer("r", 0, nil))}},
		"Q16 another is not opaque":   {ask, []profileStep{now(a+" opaque", plain, opaqueServer("r", 80, &Selector{}), transparent)}},
		"Q17 by name":                 {ask, []profileStep{now(a, plain), now(a+" opaque", opaqueNamed("s", "http")), now(a, opaqueNamed("s", "admin"))}},
		"Q5 undeclared":               {askIP("10.0.0.1", 9999), []profileStep{now("endpoint 10.0.0.1:9999 Pod/a", plain), now("endpoint 10.0.0.1:9999 Pod/a opaque", opaqueServer("s", 9999, &Selector{}))}},
		"Q6 the pod's labels":         {ask, []profileStep{now(a, plain, opaqueServer("s", 80, having("app", "db"))), now(a+" opaque", pod("a", runs("10.0.0.1"), labelled("app", "db"))), now(a, plain)}},
		"§2.7 of another namespace":   {ask, []profileStep{now(a, plain, foreign)}},
		"§2.7 no selector":            {ask, []profileStep{now(a, plain, opaqueServer("s", 80, nil))}},
		"Q24 T26 the owner appears":   {ask, []profileStep{now(a+" replicaset/rs", pod("a", runs("10.0.0.1"), owned("ReplicaSet", "rs"))), now(a+" deployment/web", owner1), now(a+" replicaset/rs", owner2), gone(a+" replicaset/rs", owner2)}},
		"Q24 T26 the owner is before": {ask, []profileStep{now("endpoint 10.0.0.1:80", owner1), now(a+" deployment/web", pod("a", runs("10.0.0.1"), owned("ReplicaSet", "rs")))}},
	})
}

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

// onHost sets hostPorts of a pod; the ports of the pod are higher by 1000.
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

// opaquePod sets the opaque-ports annotation of a workload.
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
	ask, podA := queryIP("10.0.0.1", 80), pod("a", runs("10.0.0.1"))
	foreign := pod("a", runs("10.0.0.1"))
	foreign.Key.Cluster = "west"
	runProfiles(t, map[string]profileCase{
		"P13 P22 unused IP":               {ask, []profileStep{after(bare)}},
		"P14 P22 opaque by default":       {queryIP("10.0.0.1", 3306), []profileStep{after("endpoint 10.0.0.1:3306 opaque"), after("endpoint 10.0.0.1:3306 Pod/a opaque", podA)}},
		"P8 its IP":                       {ask, []profileStep{after(a, podA), deleted(bare, podA)}},
		"P9 its second IP":                {queryIP("fd00::1", 80), []profileStep{after("endpoint [fd00::1]:80 Pod/a", pod("a", runs("10.0.0.1", "fd00::1")))}},
		"Q5 undeclared ports":             {queryIP("10.0.0.1", 9999), []profileStep{after("endpoint 10.0.0.1:9999"), after("endpoint 10.0.0.1:9999 Pod/a", podA), deleted("endpoint 10.0.0.1:9999", podA)}},
		"§3.6 in the network of its host": {ask, []profileStep{after(bare, pod("a", runs("10.0.0.1"), func(w *Workload) { w.HostNetwork = true }))}},
		"§3.6 leaves that network":        {ask, []profileStep{after(bare, pod("a", runs("10.0.0.1"), func(w *Workload) { w.HostNetwork = true })), after(a, podA)}},
		"P10 P11 Pending, then Running":   {ask, []profileStep{after(bare, pod("a", runs("10.0.0.1"), pending)), after(a, podA)}},
		"P10 Pending, its list unknown":   {ask, []profileStep{after(bare, pod("a", runs("10.0.0.1"), pending, opaquePod("80"))), after(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80")))}},
		"P10 stops running":               {ask, []profileStep{after(a, podA), after(bare, pod("a", runs("10.0.0.1"), pending))}},
		"P14 finished":                    {ask, []profileStep{after(bare, pod("a", runs("10.0.0.1"), finished)), after("endpoint 10.0.0.1:80 Pod/b", pod("b", runs("10.0.0.1")))}},
		"P14 others that are over": {ask, []profileStep{after(
			a, podA, pod("b", runs("10.0.0.1"), finished), pod("c", runs("10.0.0.1"), terminating), pod("d", runs("10.0.0.1"), finished, terminating),
		)}},
		"§3.6 deletion begins":                      {ask, []profileStep{after(a, podA), after(a, pod("a", runs("10.0.0.1"), terminating)), deleted(bare, podA)}},
		"§3.6 of two terminating the new":           {ask, []profileStep{after("endpoint 10.0.0.1:80 Pod/b", pod("a", runs("10.0.0.1"), terminating, born(1)), pod("b", runs("10.0.0.1"), terminating, born(2)))}},
		"§3.6 of two terminating the one that runs": {ask, []profileStep{after(a, pod("a", runs("10.0.0.1"), terminating, born(1)), pod("b", runs("10.0.0.1"), terminating, pending, born(2)))}},
		"P25 two pods":                              {ask, []profileStep{after("conflict", podA, pod("b", runs("10.0.0.1"))), deleted("endpoint 10.0.0.1:80 Pod/b", podA)}},
		// The pod that is ready, runs or is younger has the address, as in responses about Services (mesh
		// finding 5).
		"P25 one of them Pending":          {ask, []profileStep{after(a, podA, pod("b", runs("10.0.0.1"), pending, born(9)))}},
		"mesh finding 5 the younger":       {ask, []profileStep{after(a, podA), after("endpoint 10.0.0.1:80 Pod/b", pod("b", runs("10.0.0.1"), born(9))), deleted(a, pod("b"))}},
		"mesh finding 5 the one ready":     {ask, []profileStep{after("endpoint 10.0.0.1:80 Pod/b", podA, pod("b", runs("10.0.0.1"), born(9))), after(a, pod("a", runs("10.0.0.1"), readied))}},
		"mesh finding 5 both become ready": {ask, []profileStep{after(a, pod("a", runs("10.0.0.1"), readied), pod("b", runs("10.0.0.1"), born(9))), after("endpoint 10.0.0.1:80 Pod/b", pod("b", runs("10.0.0.1"), born(9), readied))}},
		"Q6 the IP is used again": {ask, []profileStep{
			after(a, podA), after("endpoint 10.0.0.1:80 Pod/b", pod("a", runs("10.0.0.1"), terminating), pod("b", runs("10.0.0.1"))), deleted("endpoint 10.0.0.1:80 Pod/b", podA),
		}},
		"Q6 the pod is edited":      {ask, []profileStep{after(a, podA), after(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80"))), after(a, podA)}},
		"Q6 the pod is replaced":    {ask, []profileStep{after(a, podA), {put: []Object{pod("b", runs("10.0.0.1"))}, remove: []Object{podA}, want: "endpoint 10.0.0.1:80 Pod/b"}}},
		"the pod has another IP":    {ask, []profileStep{after(a, podA), after(bare, pod("a", runs("10.0.0.2"))), after(a, podA)}},
		"P17 annotated":             {ask, []profileStep{after(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80")))}},
		"T22 annotated with names":  {ask, []profileStep{after(a+" opaque", pod("a", runs("10.0.0.1"), declares("http", 80), declares("sidecar", 81), opaquePod("sidecar,http")))}},
		"P14 annotated with none":   {queryIP("10.0.0.1", 3306), []profileStep{after("endpoint 10.0.0.1:3306 Pod/a", pod("a", runs("10.0.0.1"), opaquePod("")))}},
		"a pod of another cluster":  {ask, []profileStep{after(bare, foreign)}},
		"one IP twice in its list":  {ask, []profileStep{after(a, pod("a", runs("10.0.0.1", "10.0.0.1"))), deleted(bare, podA)}},
		"a pod before a host's":     {ask, []profileStep{after(a, podA, pod("b", runs("10.0.0.9"), onHost("10.0.0.1", 80)))}},
		"a pod before a workload's": {ask, []profileStep{after(a, podA, vm("vm", "10.0.0.1")), deleted("endpoint 10.0.0.1:80 ExternalWorkload/vm", podA)}},
	})
}

func TestProfileOfHostPort(t *testing.T) {
	const bare, a, b = "endpoint 192.168.0.1:80", "endpoint 192.168.0.1:80 Pod/a", "endpoint 192.168.0.1:80 Pod/b"
	ask, podA, podB := queryIP("192.168.0.1", 80), pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80, 81)), pod("b", runs("10.0.0.2"), onHost("192.168.0.1", 80))
	runProfiles(t, map[string]profileCase{
		"P23 P25 one of two":      {ask, []profileStep{after(a, podA)}},
		"P25 the other one":       {queryIP("192.168.0.1", 81), []profileStep{after("endpoint 192.168.0.1:81 Pod/a", podA)}},
		"P25 a port not mapped":   {queryIP("192.168.0.1", 82), []profileStep{after("endpoint 192.168.0.1:82", podA)}},
		"P25 the container's own": {queryIP("192.168.0.1", 1080), []profileStep{after("endpoint 192.168.0.1:1080", podA)}},
		"P25 another host":        {queryIP("192.168.0.2", 80), []profileStep{after("endpoint 192.168.0.2:80", podA)}},
		"P23 another pod follows": {ask, []profileStep{
			after(a, podA), deleted(bare, podA), after(b, podB), after(b+" opaque", opaqueNamed("s", "mapped")),
		}},
		"P23 the next is there early": {ask, []profileStep{
			after(a, podA), after(b, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), terminating), podB), deleted(b, podA),
		}},
		"P25 two at once":                 {ask, []profileStep{after("conflict", podA, podB), deleted(a, podB)}},
		"P14 one of them is over":         {ask, []profileStep{after(a, podA, pod("b", runs("10.0.0.2"), onHost("192.168.0.1", 80), finished))}},
		"§3.6 in the network of its host": {ask, []profileStep{after(a, pod("a", runs("192.168.0.1"), onHost("192.168.0.1", 80), func(w *Workload) { w.HostNetwork = true }))}},
		"P10 Pending":                     {ask, []profileStep{after(bare, pod("a", runs(), onHost("192.168.0.1", 80), pending)), after(a, podA)}},
		"Q17 a Server names its port":     {ask, []profileStep{after(a, podA), after(a+" opaque", opaqueNamed("s", "mapped")), deleted(a, opaqueNamed("s", "mapped"))}},
		// Servers and annotations refer to the ports of the pod (mesh finding 1).
		"mesh finding 1 a Server numbers its port": {ask, []profileStep{after(a, podA), after(a+" opaque", opaqueServer("s", 1080, &Selector{})), after(a, opaqueServer("s", 80, &Selector{}))}},
		"mesh finding 1 annotated":                 {ask, []profileStep{after(a+" opaque", pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), opaquePod("1080"))), after(a, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), opaquePod("80")))}},
		// Two pods may map one port at different addresses of their host (mesh finding 6).
		"mesh finding 6 mapped at another address": {ask, []profileStep{
			after(bare, pod("b", runs("10.0.0.2"), onHost("192.168.0.1", 80), mappedAt("127.0.0.1"))), after(a, podA), after(a, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), mappedAt("192.168.0.1"))),
		}},
		"mesh finding 6 at all of IPv4":    {ask, []profileStep{after(a, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), mappedAt("0.0.0.0")))}},
		"mesh finding 6 at all of IPv6":    {ask, []profileStep{after(bare, pod("a", runs("10.0.0.1"), onHost("192.168.0.1", 80), mappedAt("::")))}},
		"the port is no longer mapped":     {ask, []profileStep{after(a, podA), after(bare, pod("a", runs("10.0.0.1")))}},
		"a pod's host before a workload's": {ask, []profileStep{after(a, podA, vm("vm", "192.168.0.1"))}},
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
	ask := queryIP("10.1.0.1", 80)
	runProfiles(t, map[string]profileCase{
		"P12":                        {ask, []profileStep{after(bare), after(own, vm("vm", "10.1.0.1")), deleted(bare, vm("vm", "10.1.0.1"))}},
		"P12 ready or not":           {ask, []profileStep{after(own, vm("vm", "10.1.0.1", pending))}},
		"P12 a port not declared":    {queryIP("10.1.0.1", 81), []profileStep{after("endpoint 10.1.0.1:81", vm("vm", "10.1.0.1")), after("endpoint 10.1.0.1:81 ExternalWorkload/vm", vm("vm", "10.1.0.1", declares("admin", 81)))}},
		"P20 annotated":              {ask, []profileStep{after(own+" opaque", vm("vm", "10.1.0.1", opaquePod("80"))), after(own, vm("vm", "10.1.0.1"))}},
		"P21 Q4 a Server":            {ask, []profileStep{after(own, vm("vm", "10.1.0.1")), after(own+" opaque", externalServer("s", &Selector{})), deleted(own, externalServer("s", nil))}},
		"P21 not a Server for pods":  {ask, []profileStep{after(own, vm("vm", "10.1.0.1"), opaqueServer("s", 80, &Selector{}))}},
		"§3.6 two have it":           {ask, []profileStep{after("conflict", vm("vm", "10.1.0.1"), vm("box", "10.1.0.1")), deleted(own, vm("box", "10.1.0.1"))}},
		"§3.6 two, different ports":  {ask, []profileStep{after(own, vm("vm", "10.1.0.1"), workload(externalKey("box"), runs("10.1.0.1"), declares("x", 81)))}},
		"§3.6 the IP changes":        {ask, []profileStep{after(own, vm("vm", "10.1.0.1")), after(bare, vm("vm", "10.1.0.2"))}},
		"§A.4 an owner of its own":   {ask, []profileStep{after(own+" group/g", vm("vm", "10.1.0.1", owned("Group", "g")))}},
		"a Service's cluster IP too": {ask, []profileStep{after("service web", vm("vm", "10.1.0.1"), service("web", clusterIPs("10.1.0.1")))}},
	})
}

func TestProfileOfHostname(t *testing.T) {
	const bare, a = "endpoint web 10.0.0.1:80", "endpoint web 10.0.0.1:80 Pod/a"
	ask, podA := queryHostname("web", "web-0", 80), pod("a", runs("10.0.0.1"))
	named := func(ip string, target WorkloadKey, edits ...func(*SliceEndpoint)) SliceEndpoint {
		return at(ip, target, append(edits, func(e *SliceEndpoint) { e.Hostname = "web-0" })...)
	}
	notReady := func(e *SliceEndpoint) { e.NotReady = true }
	uid := func(id UID) func(*SliceEndpoint) { return func(e *SliceEndpoint) { e.TargetUID = id } }
	identified := func(id UID) func(*Workload) { return func(w *Workload) { w.UID = id } }
	one := slice("s", "web", IPv4, at("10.0.0.9", WorkloadKey{}), named("10.0.0.1", podKey("a")))
	runProfiles(t, map[string]profileCase{
		"P7":                       {ask, []profileStep{after("nothing web"), after(a, one, podA), deleted("nothing web", one)}},
		"P7 not ready":             {ask, []profileStep{after(a, podA, slice("s", "web", IPv4, named("10.0.0.1", podKey("a"), notReady)))}},
		"P7 another hostname":      {queryHostname("web", "web-1", 80), []profileStep{after("nothing web", one, podA)}},
		"P7 another Service":       {queryHostname("db", "web-0", 80), []profileStep{after("nothing db", one, podA)}},
		"§3.1 the pod's own IP":    {ask, []profileStep{after("endpoint web 10.0.0.7:80 Pod/a", one, pod("a", runs("10.0.0.7")))}},
		"Q23 the pod's IP changes": {ask, []profileStep{after(a, one, podA), after("endpoint web 10.0.0.7:80 Pod/a", pod("a", runs("10.0.0.7")))}},
		"Q23 another pod has it":   {ask, []profileStep{after(a, one, podA), after("endpoint web 10.0.0.2:80 Pod/b", pod("b", runs("10.0.0.2")), slice("s", "web", IPv4, named("10.0.0.2", podKey("b"))))}},
		// A deleted pod is not described as a bare address, because another pod may have the address (mesh
		// finding 4).
		"mesh finding 4 the pod is missing": {ask, []profileStep{after("nothing web", one), after(a, podA), deleted("nothing web", podA)}},
		"mesh finding 4 it is another one":  {ask, []profileStep{after("nothing web", slice("s", "web", IPv4, named("10.0.0.1", podKey("a"), uid(1))), pod("a", runs("10.0.0.7"), identified(2))), after(a, pod("a", runs("10.0.0.1"), identified(1)))}},
		"mesh finding 4 it has ended":       {ask, []profileStep{after(a, one, podA), after("nothing web", pod("a", runs("10.0.0.1"), finished))}},
		"mesh finding 4 another is there": {ask, []profileStep{after(
			"endpoint web 10.0.0.2:80 Pod/b", pod("b", runs("10.0.0.2")), one, slice("t", "web", IPv4, named("10.0.0.2", podKey("b"), notReady)),
		), after(a, podA)}},
		// Endpoints without a hostname have the names that CoreDNS gives them (mesh finding 18).
		"mesh finding 18 dashes":            {queryHostname("web", "10-0-0-1", 80), []profileStep{after(a, podA, slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))))}},
		"mesh finding 18 dashes of IPv6":    {queryHostname("web", "fd00--1", 80), []profileStep{after("endpoint web [fd00::1]:80 Pod/a", pod("a", runs("10.0.0.1", "fd00::1")), slice("s", "web", IPv6, at("fd00::1", podKey("a"))))}},
		"mesh finding 18 it has a hostname": {queryHostname("web", "10-0-0-1", 80), []profileStep{after("nothing web", podA, one)}},
		"P10 the pod is Pending":            {ask, []profileStep{after(bare, one, pod("a", runs("10.0.0.1"), pending)), after(a, podA)}},
		"Q7 no target":                      {ask, []profileStep{after(bare, slice("s", "web", IPv4, named("10.0.0.1", WorkloadKey{})))}},
		"Q7 an ExternalWorkload":            {ask, []profileStep{after("endpoint web 10.1.0.1:80 ExternalWorkload/vm", vm("vm", "10.1.0.1"), slice("s", "web", IPv4, named("10.1.0.1", externalKey("vm"))))}},
		"Q7 one of its addresses":           {ask, []profileStep{after("endpoint web [fd00::7]:80 ExternalWorkload/vm", vm("vm", "10.1.0.1", runs("10.1.0.1", "fd00::7")), slice("s", "web", IPv6, named("fd00::7", externalKey("vm"))))}},
		"of several the one ready":          {ask, []profileStep{after(a, podA, slice("s", "web", IPv4, named("10.0.0.3", WorkloadKey{}, notReady)), slice("t", "web", IPv4, named("10.0.0.1", podKey("a"))))}},
		"of several ready the first":        {ask, []profileStep{after(a, podA, slice("s", "web", IPv4, named("10.0.0.1", podKey("a"))), slice("t", "web", IPv4, named("10.0.0.3", WorkloadKey{})))}},
		"an endpoint without address":       {ask, []profileStep{after("nothing web", slice("s", "web", IPv4, SliceEndpoint{Hostname: "web-0"}))}},
		"P21 a Server":                      {ask, []profileStep{after(a, one, podA), after(a+" opaque", opaqueServer("s", 80, &Selector{})), deleted(a, opaqueServer("s", 0, nil))}},
	})
}

func TestProfileOfServersAndOwners(t *testing.T) {
	const a = "endpoint 10.0.0.1:80 Pod/a"
	ask := queryIP("10.0.0.1", 80)
	plain := pod("a", runs("10.0.0.1"), labelled("app", "web"), declares("http", 80))
	owner1, owner2 := owner("ReplicaSet", "rs", OwnerRef{"Deployment", "web"}), owner("ReplicaSet", "rs", OwnerRef{})
	foreign := opaqueServer("s", 80, &Selector{})
	foreign.Namespace = "other"
	transparent := opaqueServer("s", 80, &Selector{})
	transparent.Opaque = false
	runProfiles(t, map[string]profileCase{
		"P21 Q3 is added and removed": {ask, []profileStep{after(a, plain), after(a+" opaque", opaqueServer("s", 80, &Selector{})), deleted(a, transparent)}},
		"P21 before the pod":          {ask, []profileStep{after("endpoint 10.0.0.1:80", opaqueServer("s", 80, &Selector{})), after(a+" opaque", plain)}},
		"Q3 no longer opaque":         {ask, []profileStep{after(a+" opaque", plain, opaqueServer("s", 80, &Selector{})), after(a, transparent)}},
		"Q3 selects another":          {ask, []profileStep{after(a+" opaque", plain, opaqueServer("s", 80, having("app", "web"))), after(a, opaqueServer("s", 80, having("app", "db")))}},
		"Q3 another port":             {ask, []profileStep{after(a+" opaque", plain, opaqueServer("s", 80, &Selector{})), after(a, opaqueServer("s", 81, &Selector{}))}},
		"Q3 an annotation remains":    {ask, []profileStep{after(a+" opaque", pod("a", runs("10.0.0.1"), opaquePod("80")), opaqueServer("s", 80, &Selector{})), deleted(a+" opaque", transparent)}},
		"Q16 one of two is deleted":   {ask, []profileStep{after(a+" opaque", plain, opaqueServer("s", 80, &Selector{}), opaqueServer("r", 80, &Selector{})), deleted(a+" opaque", transparent), deleted(a, opaqueServer("r", 0, nil))}},
		"Q16 another is not opaque":   {ask, []profileStep{after(a+" opaque", plain, opaqueServer("r", 80, &Selector{}), transparent)}},
		"Q17 by name":                 {ask, []profileStep{after(a, plain), after(a+" opaque", opaqueNamed("s", "http")), after(a, opaqueNamed("s", "admin"))}},
		"Q5 undeclared":               {queryIP("10.0.0.1", 9999), []profileStep{after("endpoint 10.0.0.1:9999 Pod/a", plain), after("endpoint 10.0.0.1:9999 Pod/a opaque", opaqueServer("s", 9999, &Selector{}))}},
		"Q6 the pod's labels":         {ask, []profileStep{after(a, plain, opaqueServer("s", 80, having("app", "db"))), after(a+" opaque", pod("a", runs("10.0.0.1"), labelled("app", "db"))), after(a, plain)}},
		"§2.7 of another namespace":   {ask, []profileStep{after(a, plain, foreign)}},
		"§2.7 no selector":            {ask, []profileStep{after(a, plain, opaqueServer("s", 80, nil))}},
		"Q24 T26 the owner appears":   {ask, []profileStep{after(a+" replicaset/rs", pod("a", runs("10.0.0.1"), owned("ReplicaSet", "rs"))), after(a+" deployment/web", owner1), after(a+" replicaset/rs", owner2), deleted(a+" replicaset/rs", owner2)}},
		"Q24 T26 the owner is before": {ask, []profileStep{after("endpoint 10.0.0.1:80", owner1), after(a+" deployment/web", pod("a", runs("10.0.0.1"), owned("ReplicaSet", "rs")))}},
	})
}

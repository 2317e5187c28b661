package workload

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/api/policy"
	"github.com/signpostd/signpost/api/workload"
)

const (
	externals = 2 // ext-N: Services that select ExternalWorkloads
	machines  = 6 // ext-N-M: the ExternalWorkloads of each of them
	profiles  = 4 // web-0 to web-3 may have a ServiceProfile
	servers   = 4 // web-2 to web-5 may have a Server
)

func externalName(i int) string { return fmt.Sprint("ext-", i) }

func (s *simulation) beginMesh() {
	for i := range externals {
		s.create(s.newService(externalName(i), map[string]string{"app": externalName(i)}))
		for m := range 3 {
			s.startMachine(i, m)
		}
	}
	for i := range profiles / 2 {
		s.changeProfile(webName(i))
	}
	for i := range servers / 2 {
		s.changeServer(webName(2 + i))
	}
}

func (s *simulation) meshActions() []weighted {
	return []weighted{
		{8, s.changeMachine},
		{4, func() { s.changeProfile(webName(s.rng.IntN(profiles))) }},
		{4, func() { s.changeServer(webName(2 + s.rng.IntN(servers))) }},
	}
}

func machineName(i, m int) string { return fmt.Sprintf("ext-%d-%d", i, m) }

// startMachine creates an ExternalWorkload, which is ready a moment later.
func (s *simulation) startMachine(i, m int) {
	machine := s.newWorkload(machineName(i, m), externalName(i), pick(s, int32(8080), 8080, 8081))
	s.create(machine)
	s.after(s.between(50*time.Millisecond, time.Second), func() { s.setMachineReady(machine, true) })
}

func (s *simulation) setMachineReady(machine *workload.ExternalWorkload, ready bool) {
	if find[*workload.ExternalWorkload](s, name(machine)) == machine {
		machine.Status.Conditions = workloadCondition(ready, s.now)
		s.setStatus(machine, "/status")
	}
}

// changeMachine creates a missing machine. It changes the readiness, the port or the address of an existing
// one, or deletes it.
func (s *simulation) changeMachine() {
	i, m := s.rng.IntN(externals), s.rng.IntN(machines)
	machine := find[*workload.ExternalWorkload](s, "ExternalWorkload "+machineName(i, m))
	if machine == nil {
		s.startMachine(i, m)
		return
	}
	switch n := s.rng.IntN(10); {
	case n < 5:
		ready := len(machine.Status.Conditions) > 0 && machine.Status.Conditions[0].Status == "True"
		s.setMachineReady(machine, !ready)
	case n < 7:
		machine.Spec.Ports = []workload.Port{{Name: "http", Port: pick(s, int32(8080), 8081), Protocol: corev1.ProtocolTCP}}
		s.set(machine, "/spec")
	case n < 8:
		machine.Spec.WorkloadIPs = []workload.WorkloadIP{{IP: s.newAddress()}}
		s.set(machine, "/spec")
	default:
		s.remove(machine)
	}
}

// changeProfile creates a missing ServiceProfile of a Service. It changes the routes of an existing one, or
// deletes it.
func (s *simulation) changeProfile(service string) {
	fresh := s.newProfile(service)
	fresh.Spec = linkerd.ServiceProfileSpec{
		Routes: []linkerd.Route{{
			Name: fmt.Sprint("route-", s.rng.IntN(100)), Condition: &linkerd.RequestMatch{Method: pick(s, "GET", "POST"), PathRegex: "/orders/[0-9]+"},
			IsRetryable: s.chance(50), Timeout: pick(s, "300ms", "2s"),
		}},
		RetryBudget: &linkerd.RetryBudget{RetryRatio: 0.2, MinRetriesPerSecond: int64(1 + s.rng.IntN(20)), TTL: "10s"},
	}
	old := find[*linkerd.ServiceProfile](s, name(fresh))
	switch {
	case old == nil:
		s.create(fresh)
	case s.chance(25):
		s.remove(old)
	default:
		old.Spec = fresh.Spec
		s.set(old, "/spec")
	}
}

// changeServer creates a missing Server of an app. It switches the protocol of an existing one between opaque
// and another, or deletes it.
func (s *simulation) changeServer(app string) {
	fresh := s.newServer(app)
	old := find[*policy.Server](s, name(fresh))
	switch {
	case old == nil:
		s.create(fresh)
	case s.chance(25):
		s.remove(old)
	default:
		old.Spec.ProxyProtocol = pick(s, policy.ProxyProtocolOpaque, "HTTP/1", "unknown")
		s.set(old, "/spec")
	}
}

package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/internal/childprocess"
)

// writers are the two replicas that write slices: the one that holds the Lease, and the one that waits for
// it.
type writers struct {
	leader, standby *clienttest.Program
	holder          string // identity of the leader in the Lease
	started         int
}

// lease is the Lease of the writers, which each side has under a name of its own.
func (s *side) lease() (namespace, name string) {
	if s.name == "signpost" {
		return metav1.NamespaceSystem, "signpost-controllers"
	}
	return metav1.NamespaceSystem, "endpoint-controllers"
}

// startWriters starts the leader first, so that it is known which of the two it is.
func (s *side) startWriters(ctx context.Context) (err error) {
	if s.writers.leader, err = s.startWriter(); err != nil {
		return err
	}
	if err := s.Await(ctx, "a writer holds the Lease", func() bool { s.writers.holder = s.holder(ctx); return s.writers.holder != "" }); err != nil {
		return err
	}
	s.writers.standby, err = s.startWriter()
	return err
}

// startWriter starts a replica, with the settings that it has when nobody sets any.
func (s *side) startWriter() (*clienttest.Program, error) {
	s.writers.started++
	log := fmt.Sprintf("writer-%d", s.writers.started)
	address, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	if s.name == "signpost" {
		return s.Launch(log, exec.Command("bin/signpost", "controllers", "--kubeconfig", s.kubeconfig, "--metrics-addr", address,
			"--controllers=*,-externalworkloads"))
	}
	_, name := s.lease()
	return s.Launch(log, exec.Command("bin/localcluster", "kube-controller-manager", "--kubeconfig", s.kubeconfig,
		"--authentication-kubeconfig", s.kubeconfig, "--authorization-kubeconfig", s.kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+port(address), "--cert-dir="+s.Dir,
		"--leader-elect-resource-name="+name,
		"--controllers=endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller"))
}

// holder returns who holds the Lease, or an empty string.
func (s *side) holder(ctx context.Context) string {
	namespace, name := s.lease()
	lease, err := s.client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// killLeader kills the leader and returns when it did.
func (s *side) killLeader(ctx context.Context) (killed time.Time, err error) {
	if holder := s.holder(ctx); holder != s.writers.holder {
		return killed, fmt.Errorf("kill the leader: %s holds the Lease, not %s", holder, s.writers.holder)
	}
	if err := s.Kill(s.writers.leader, syscall.SIGKILL); err != nil {
		return killed, fmt.Errorf("kill the leader: %w", err)
	}
	return time.Now(), nil
}

// awaitLeader waits until the standby leads, and starts another standby: earlier, either of the two
// could get the Lease.
func (s *side) awaitLeader(ctx context.Context) (err error) {
	before := s.writers.holder
	err = s.Await(ctx, "another writer holds the Lease", func() bool {
		s.writers.holder = s.holder(ctx)
		return s.writers.holder != "" && s.writers.holder != before
	})
	if err != nil {
		return err
	}
	s.writers.leader = s.writers.standby
	s.writers.standby, err = s.startWriter()
	return err
}

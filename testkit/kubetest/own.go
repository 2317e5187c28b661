package kubetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The components that a test can kill or stop.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// deathTimeout bounds the wait for the end of a killed process.
const deathTimeout = 10 * time.Second

// Options configure a cluster beyond etcd and kube-apiserver.
type Options struct {
	Nodes               int           // simulated nodes; pods bound to them become Running and Ready
	ControllerManager   bool          // kube-controller-manager and kube-scheduler, so that Deployments work
	EndpointControllers string        // the writer of EndpointSlices: "signpost" (default) or "kubernetes"
	CRDs                string        // directory of CustomResourceDefinitions
	RestartDelay        time.Duration // between the death and the restart of a component; zero means one second
	AuditLog            string        // audit log: a line of JSON per request to the API server (audit.k8s.io/v1 Event)
}

// args returns the command line of localcluster for these options.
func (o Options) args(dir string) []string {
	args := []string{"up", "--ephemeral", "--dir=" + dir, "--nodes=" + strconv.Itoa(o.Nodes), "--pod-ready-delay=20ms"}
	if !o.ControllerManager {
		args = append(args, "--components="+Etcd+","+APIServer)
	}
	if o.EndpointControllers != "" {
		args = append(args, "--endpoint-controllers="+o.EndpointControllers)
	}
	if o.CRDs != "" {
		args = append(args, "--crds="+o.CRDs)
	}
	if o.RestartDelay != 0 {
		args = append(args, "--restart-delay="+o.RestartDelay.String())
	}
	if o.AuditLog != "" {
		args = append(args, "--audit-log="+o.AuditLog)
	}
	return args
}

// shortOutage is the default length of an outage.
const shortOutage = 6 * time.Second

// Outage is how long an API server is unreachable in the tests of a package. The promise to continue within 5
// s is about outages of about 60 s, which a flag selects.
type Outage struct{ length *time.Duration }

// NewOutage defines the flag. A package calls it once, for a variable.
func NewOutage(name string) Outage {
	return Outage{flag.Duration(name, shortOutage, "length of the outage of an API server in tests; a long one is measured, and wants a machine that does nothing else")}
}

// Length is how long the API server is unreachable.
func (o Outage) Length() time.Duration { return *o.length }

// BackWithin returns how soon after the outage a change must arrive.
func (o Outage) BackWithin() time.Duration {
	if *o.length > shortOutage {
		return 5 * time.Second
	}
	return 30 * time.Second
}

// OwnCluster is the cluster of one test, which may break it.
type OwnCluster struct {
	*Cluster
	t testing.TB
}

// StartOwn starts a cluster for this test alone. It ends with the test.
func StartOwn(t testing.TB, options Options) *OwnCluster {
	t.Helper()
	cluster, err := startCluster(options)
	if err != nil {
		t.Fatalf("kubetest: %v", err)
	}
	cluster.private = true
	t.Cleanup(cluster.close)
	return &OwnCluster{Cluster: cluster, t: t}
}

// Kill ends a component with SIGKILL and waits for its end. It is restarted after the restart delay.
func (c *OwnCluster) Kill(component string) {
	c.t.Helper()
	pid := c.signal(component, syscall.SIGKILL)
	Eventually(c.t, deathTimeout, func() error {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			return fmt.Errorf("%s (pid %d) is still there: %v", component, pid, err)
		}
		return nil
	})
}

// Stop freezes a component until Continue: it keeps its connections, but doesn't respond.
func (c *OwnCluster) Stop(component string) {
	c.t.Helper()
	c.signal(component, syscall.SIGSTOP)
}

// Continue resumes a component after Stop.
func (c *OwnCluster) Continue(component string) {
	c.t.Helper()
	c.signal(component, syscall.SIGCONT)
}

func (c *OwnCluster) signal(component string, signal syscall.Signal) (pid int) {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, "pids", component))
	if err != nil {
		c.t.Fatalf("kubetest: send %v to %s, which does not run: %v", signal, component, err)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		c.t.Fatalf("kubetest: send %v to %s: read its pid: %v", signal, component, err)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		c.t.Fatalf("kubetest: send %v to %s (pid %d): %v", signal, component, pid, err)
	}
	return pid
}

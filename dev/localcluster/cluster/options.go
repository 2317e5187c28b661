package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/localcluster/nodes"
)

// The components, in the order in which they start. They are also subcommands of the binary.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Components lists all of them.
func Components() []string { return []string{Etcd, APIServer, ControllerManager, Scheduler} }

// Who writes Endpoints and EndpointSlices.
const (
	EndpointsByKubernetes = "kubernetes" // the controllers inside kube-controller-manager
	EndpointsBySignpost   = "signpost"   // nobody in this cluster: start `signpost controllers` beside it
)

// Options say what Run starts. Validate tells what is wrong with them.
type Options struct {
	Dir                 string        // everything the cluster writes
	Ephemeral           bool          // no clean-up of the processes, and Dir is removed at the end
	Port                int           // of the API server; 0 picks a free one
	Components          []string      // a subset of Components(); etcd and kube-apiserver are a must
	EndpointControllers string        // EndpointsByKubernetes or EndpointsBySignpost
	PodGC               bool          // run the controller that fails and deletes the pods of deleted nodes
	CRDs                string        // directory of CustomResourceDefinitions; may be empty
	AuditLog            string        // file that gets a line about each request to the API server; may be empty
	Nodes               int           // simulated nodes
	PodReadyDelay       time.Duration // between the start of a simulated pod and its readiness
	RestartDelay        time.Duration // between the death of a component and its next start
	StartTimeout        time.Duration // until everything is ready
	Report              func(message string)
}

// Default returns the options that the command line starts from.
func Default() Options {
	return Options{
		Components:          Components(),
		EndpointControllers: EndpointsBySignpost,
		PodGC:               true,
		Nodes:               3,
		PodReadyDelay:       200 * time.Millisecond,
		RestartDelay:        time.Second,
		StartTimeout:        2 * time.Minute,
		Report:              func(string) {},
	}
}

// Validate returns everything that is wrong, each line naming its flag.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Dir == "" {
		bad("--dir is missing: it names the directory for the cluster's data, logs and kubeconfig")
	}
	if o.Port < 0 || o.Port > 65535 {
		bad("--port %d is not a port number", o.Port)
	}
	for _, name := range o.Components {
		if !slices.Contains(Components(), name) {
			bad("--components: %q is not one of %s", name, strings.Join(Components(), ", "))
		}
	}
	for _, name := range []string{Etcd, APIServer} {
		if !o.has(name) {
			bad("--components: nothing works without %s", name)
		}
	}
	if o.EndpointControllers != EndpointsByKubernetes && o.EndpointControllers != EndpointsBySignpost {
		bad("--endpoint-controllers %q is neither %s nor %s", o.EndpointControllers, EndpointsByKubernetes, EndpointsBySignpost)
	}
	if o.Nodes < 0 || o.Nodes > nodes.MaxNodes {
		bad("--nodes %d is not between 0 and %d", o.Nodes, nodes.MaxNodes)
	}
	if o.PodReadyDelay < 0 {
		bad("--pod-ready-delay %s is negative", o.PodReadyDelay)
	}
	if o.RestartDelay < 0 {
		bad("--restart-delay %s is negative", o.RestartDelay)
	}
	if o.StartTimeout <= 0 {
		bad("--start-timeout %s is not positive", o.StartTimeout)
	}
	errs = append(errs, validateCRDs(o.CRDs), validatePort(o.Port))
	return errors.Join(errs...)
}

func (o Options) has(component string) bool { return slices.Contains(o.Components, component) }

func validateCRDs(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("--crds: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("--crds %s is not a directory", dir)
	}
	return nil
}

// validatePort says at once what kube-apiserver would only say in its log.
func validatePort(port int) error {
	if port <= 0 || port > 65535 {
		return nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("--port: %w", err)
	}
	return listener.Close()
}

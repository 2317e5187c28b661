package portforward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
)

// DefaultSelector selects the pods of our manifests, and their Deployments.
const DefaultSelector = "app.kubernetes.io/name=signpost"

const (
	// maxProcesses limits the queried pods.
	maxProcesses = 32
	// maxReasons limits the reported reasons if no pod can be reached.
	maxReasons = 5
)

// Server is one of the servers of a process.
type Server string

const (
	// Admin serves the inspection API, on its own port (named inspect) or beside the metrics.
	Admin Server = "admin"
	// Destination serves the Destination API over gRPC.
	Destination Server = "destination"
	// XDS serves xDS over gRPC.
	XDS Server = "xds"
)

// Target selects processes, and one of their servers.
type Target struct {
	Server Server
	// Addr is HOST:PORT of one server. If it is empty, pods are searched.
	Addr string
	// Config returns the connection to the API server.
	Config func() (*rest.Config, error)
	// Selector and Namespace select the pods; an empty Namespace means all.
	Selector, Namespace string
	// Pod is the name of the only pod; empty means all.
	Pod string
	// Port is the port of the server in each pod; 0 means the declared port, else the default.
	Port int
	// First stops after one reachable pod, for queries that any replica can answer.
	First Amount
	// Timeout limits the search and forwarding.
	Timeout time.Duration
}

// Amount says how many processes are needed.
type Amount int

// The amounts: all processes, or any one of them.
const (
	All Amount = iota
	One
)

// Process is a reachable process.
type Process struct {
	// Name is the name of the pod, or the given address.
	Name string
	// Addr is HOST:PORT of the server, on this host if the port is forwarded.
	Addr string
	// Pod is nil if an address was given.
	Pod *corev1.Pod
}

// Found is the result of [Find].
type Found struct {
	Processes []Process
	// Notes say which pods are unreachable, and why.
	Notes []string
	stop  func()
	// config is the connection to the API server; nil if an address was given.
	config *rest.Config
}

// Close ends the forwarding of ports.
func (f *Found) Close() { f.stop() }

// Find finds and connects the processes of the target. It fails if there is none. If only some pods
// are unreachable, these are notes.
func Find(ctx context.Context, t Target) (*Found, error) {
	if t.Addr != "" {
		if _, _, err := net.SplitHostPort(t.Addr); err != nil {
			return nil, settings.Usagef("--addr=%s: must be HOST:PORT", t.Addr)
		}
		return &Found{Processes: []Process{{Name: t.Addr, Addr: t.Addr}}, stop: func() {}}, nil
	}
	cfg, err := t.Config()
	if err != nil {
		return nil, fmt.Errorf("%w; or name the address of a server with --addr", err)
	}
	limited, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	pods, notes, err := t.pods(limited, cfg)
	if err != nil {
		return nil, err
	}
	f := &Found{Notes: notes, config: cfg}
	t.forwardAll(limited, cfg, pods, f)
	if len(f.Processes) == 0 {
		f.Close()
		return nil, noneReached(f.Notes)
	}
	return f, nil
}

func noneReached(notes []string) error {
	errs := []error{errors.New("no process of signpost could be reached: name the address of a server with --addr, or fix the cause")}
	for i, note := range notes {
		if i == maxReasons {
			errs = append(errs, fmt.Errorf("and %d more pods", len(notes)-i))
			break
		}
		errs = append(errs, errors.New(note))
	}
	return errors.Join(errs...)
}

// forwardAll forwards a port of each pod, and adds the results to f.
func (t *Target) forwardAll(ctx context.Context, cfg *rest.Config, pods []corev1.Pod, f *Found) {
	type result struct {
		forward *forward
		err     error
	}
	results := make([]result, len(pods))
	try := func(i int) {
		port := t.port(&pods[i])
		results[i].forward, results[i].err = startForward(ctx, cfg, &pods[i], port)
		if err := results[i].err; err != nil {
			results[i].err = fmt.Errorf("pod %s/%s: forward the port %d: %w", pods[i].Namespace, pods[i].Name, port, err)
		}
	}
	if t.First == One {
		for i := range pods {
			if try(i); results[i].err == nil {
				break
			}
		}
	} else {
		var group sync.WaitGroup
		for i := range pods {
			group.Go(func() { try(i) })
		}
		group.Wait()
	}
	var open []*forward
	for i, r := range results {
		switch {
		case r.err != nil:
			f.Notes = append(f.Notes, r.err.Error())
		case r.forward != nil:
			open = append(open, r.forward)
			f.Processes = append(f.Processes, Process{Name: nameOf(&pods[i], pods), Addr: r.forward.addr, Pod: &pods[i]})
		}
	}
	f.stop = func() {
		for _, o := range open {
			o.close()
		}
	}
}

// nameOf returns the name of a pod, with its namespace if the pods are in several.
func nameOf(pod *corev1.Pod, all []corev1.Pod) string {
	for i := range all {
		if all[i].Namespace != pod.Namespace {
			return pod.Namespace + "/" + pod.Name
		}
	}
	return pod.Name
}

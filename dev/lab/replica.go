package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"text/template"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/internal/childprocess"
)

// replica is one of the Signpost processes, with all roles. Its addresses don't change when it is restarted.
type replica struct {
	name, dir string
	program   string
	env       []string
	grpc      string // address of the Destination API
	xds       string // address of the xDS server
	admin     string // address of the metrics
	config    string // path

	// ended is called with the name and the last output of a process that ended by itself.
	ended func(name string, last error)

	mu      sync.Mutex
	process *clienttest.Program // nil if it shouldn't run
	waiting sync.WaitGroup
}

// configValues are the values in the config file of a replica.
type configValues struct {
	Kubeconfig, Admin, GRPC, XDS, Host, Port, KeyName, Secret, Owner, Zone string
}

//go:embed replica.yaml.tmpl
var configText string

var configFile = template.Must(template.New("config").Parse(configText))

// newReplica prepares a replica whose kubeconfig exists already.
func newReplica(dir, name string, p configValues) (*replica, error) {
	r := &replica{name: name, dir: dir, config: filepath.Join(dir, name+".yaml")}
	for _, address := range []*string{&r.grpc, &r.xds, &r.admin} {
		var err error
		if *address, err = childprocess.Address(); err != nil {
			return nil, err
		}
	}
	p.GRPC, p.XDS, p.Admin = r.grpc, r.xds, r.admin
	var text strings.Builder
	if err := configFile.Execute(&text, p); err != nil {
		return nil, fmt.Errorf("write the config of %s: %w", name, err)
	}
	return r, os.WriteFile(r.config, []byte(text.String()), 0o600)
}

func (r *replica) log() string { return filepath.Join(r.dir, r.name+".log") }

// start starts the process, if it doesn't run already.
func (r *replica) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		return nil
	}
	cmd := exec.Command(r.program, "run", "--config", r.config)
	cmd.Env = append(os.Environ(), r.env...)
	p, err := clienttest.Start(r.name, r.log(), cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	r.process = p
	r.waiting.Go(func() { r.supervise(p) })
	return nil
}

// supervise restarts a process that has ended by itself, as the kubelet does.
func (r *replica) supervise(p *clienttest.Program) {
	<-p.Exited()
	r.mu.Lock()
	byItself := r.process == p
	if byItself {
		r.process = nil
	}
	r.mu.Unlock()
	if !byItself {
		return
	}
	r.ended(r.name, p.Ended())
	if err := r.start(); err != nil {
		r.ended(r.name, err)
	}
}

// end sends a signal to the process, and waits until it has ended.
func (r *replica) end(ctx context.Context, s syscall.Signal) {
	r.mu.Lock()
	p := r.process
	r.process = nil
	r.mu.Unlock()
	if p == nil {
		return
	}
	// Signals fail if the process has ended already.
	_ = p.Signal(s)
	select {
	case <-p.Exited():
	case <-ctx.Done():
		p.Stop(0)
	}
}

// signal sends a signal, if the process runs.
func (r *replica) signal(s syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return nil
	}
	if err := r.process.Signal(s); err != nil {
		return fmt.Errorf("send %s to %s: %w", s, r.name, err)
	}
	return nil
}

// stop stops the process at the end of a run.
func (r *replica) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	r.end(ctx, syscall.SIGTERM)
	r.waiting.Wait()
}

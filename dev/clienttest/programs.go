package clienttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	// StartWithin is how long a program may take to be ready, and StopWithin to end.
	StartWithin = 3 * time.Minute
	StopWithin  = 10 * time.Second
)

// Program is a process whose output goes to a file.
type Program struct {
	*childprocess.Process
	Name string
	// Log is the path of the file.
	Log string
}

// Start starts a program and appends its output to a file. A command that has a standard output
// already keeps it. When this process dies, the kernel sends the program the signal death.
func Start(name, log string, cmd *exec.Cmd, death syscall.Signal) (*Program, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	cmd.Stderr = out
	process, err := childprocess.Start(cmd, death)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return &Program{process, name, log}, nil
}

// Ended returns an error with the end of the log if the program has ended.
func (p *Program) Ended() error {
	select {
	case <-p.Exited():
		log, _ := os.ReadFile(p.Log)
		return fmt.Errorf("%s has ended; the end of its log:\n%s", p.Name, log[max(0, len(log)-2000):])
	default:
		return nil
	}
}

// Programs are the programs beside a cluster.
type Programs struct {
	// Dir has the logs, and the directory of the cluster.
	Dir string
	// Target is the target of make that builds the programs.
	Target  string
	running []*Program
}

// StartCluster starts bin/localcluster without nodes, and returns the path of its kubeconfig when
// it is ready.
func (g *Programs) StartCluster(ctx context.Context, flags ...string) (kubeconfig string, err error) {
	if err := os.MkdirAll(g.Dir, 0o700); err != nil {
		return "", err
	}
	dir := filepath.Join(g.Dir, "cluster")
	if _, err := g.Launch("cluster", exec.Command("bin/localcluster", append([]string{"up", "--dir", dir, "--nodes", "0"}, flags...)...)); err != nil {
		return "", err
	}
	kubeconfig = filepath.Join(dir, "kubeconfig")
	return kubeconfig, g.Await(ctx, "the cluster is ready", func() bool { _, err := os.Stat(kubeconfig); return err == nil })
}

// ComponentPid returns the process ID of a component of the local cluster in a directory.
func ComponentPid(dir, component string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "pids", component))
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", component, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read the process ID of %s: %w", component, err)
	}
	return pid, nil
}

// KillAPIServer ends the API server of the local cluster in a directory as a crash would.
func KillAPIServer(dir string) error {
	pid, err := ComponentPid(dir, "kube-apiserver")
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// Serves reports whether an API server says that it is ready.
func Serves(ctx context.Context, client kubernetes.Interface) bool {
	return client.CoreV1().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error() == nil
}

// ClientConfig returns the configuration of clients without a rate limit, and without warnings,
// which say that Endpoints are deprecated.
func ClientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config, nil
}

// Launch starts a program with [Start].
func (g *Programs) Launch(name string, cmd *exec.Cmd) (*Program, error) {
	p, err := Start(name, filepath.Join(g.Dir, name+".log"), cmd, syscall.SIGTERM)
	if err != nil {
		return nil, fmt.Errorf("%w: run `make %s`, which builds it", err, g.Target)
	}
	g.running = append(g.running, p)
	return p, nil
}

// Alive returns an error if a program has ended by itself.
func (g *Programs) Alive() error {
	for _, p := range g.running {
		if err := p.Ended(); err != nil {
			return err
		}
	}
	return nil
}

// Await waits until a condition holds while all programs run.
func (g *Programs) Await(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return Await(ctx, StartWithin, what, func() bool {
		if err := g.Alive(); err != nil {
			cancel(err)
		}
		return holds()
	})
}

// End ends a program, whose end is no error then. After the time within it is killed.
func (g *Programs) End(p *Program, within time.Duration) {
	g.forget(p)
	p.Stop(within)
}

// Kill ends a program with a signal, and waits until it has ended.
func (g *Programs) Kill(p *Program, with syscall.Signal) error {
	g.forget(p)
	if err := p.Signal(with); err != nil {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	<-p.Exited()
	return nil
}

func (g *Programs) forget(p *Program) {
	g.running = slices.DeleteFunc(g.running, func(other *Program) bool { return other == p })
}

// Stop ends all programs, the last started first.
func (g *Programs) Stop() {
	for _, p := range slices.Backward(g.running) {
		p.Stop(StopWithin)
	}
}

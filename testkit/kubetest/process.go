package kubetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	startTimeout = 3 * time.Minute // localcluster gives up earlier, with a better message
	stopTimeout  = 15 * time.Second
)

// process is a running `localcluster up`.
type process struct {
	*childprocess.Process
	dir    string
	output *os.File // unlinked, so it is removed when the last process closes it
}

// launch starts localcluster and waits until its cluster is ready.
func launch(options Options) (*process, error) {
	binary, err := Localcluster()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the cluster: %w", err)
	}
	output, err := namelessFile(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.Command(binary, options.args(dir)...)
	// Less garbage collection saves a seventh of the CPU time of a cluster, up to a limit of memory
	// for each component.
	cmd.Env = append(cmd.Environ(), "GOGC=400", "GOMEMLIMIT=1GiB")
	cmd.Stdout, cmd.Stderr = output, output
	p := &process{dir: dir, output: output}
	// If the test binary is killed, localcluster gets the signal, ends and removes its directory.
	if p.Process, err = childprocess.Start(cmd, syscall.SIGTERM); err != nil {
		return nil, errors.Join(fmt.Errorf("start localcluster: %w", err), output.Close(), os.RemoveAll(dir))
	}
	if err := p.waitReady(); err != nil {
		said := p.said()
		p.stop()
		return nil, fmt.Errorf("start a cluster: %w; localcluster said:\n%s", err, said)
	}
	return p, nil
}

// waitReady waits until the kubeconfig exists, which means that the cluster is ready.
func (p *process) waitReady() error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := os.Stat(p.kubeconfig()); err == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return errors.New("localcluster ended")
		case <-deadline.C:
			return fmt.Errorf("not ready after %s", startTimeout)
		case <-tick.C:
		}
	}
}

func (p *process) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

// said returns the output of localcluster: a line for each component, and the end of the log of a failed one.
func (p *process) said() string {
	var text bytes.Buffer
	_, _ = io.Copy(&text, io.NewSectionReader(p.output, 0, 1<<20))
	return text.String()
}

// stop ends the cluster, waits for its end, and removes its files.
func (p *process) stop() {
	p.Stop(stopTimeout)
	_ = p.output.Close()
	_ = os.RemoveAll(p.dir)
}

// namelessFile returns an open file that is already removed.
func namelessFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, fmt.Errorf("make a file for the output of localcluster: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make a file for the output of localcluster: %w", err), file.Close())
	}
	return file, nil
}

// Address returns a local address for a server that is about to start.
func Address(t testing.TB) string {
	t.Helper()
	address, err := childprocess.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

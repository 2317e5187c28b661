// Package network makes network namespaces, and the network of one simulated node in them.
//
// The namespaces have no name: the kernel removes them, with their addresses and rules, when this process and
// the programs that it started in them have ended, however they end. Making them needs root.
//
// A Namespace may be used from any goroutine.
package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace, and a thread in it.
type Namespace struct {
	file *os.File
	jobs chan func()
}

// New makes a network namespace whose loopback interface is up.
func New() (*Namespace, error) {
	n := &Namespace{jobs: make(chan func())}
	made := make(chan error)
	go n.serve(made)
	if err := <-made; err != nil {
		return nil, err
	}
	if err := n.Command("ip", "link", "set", "lo", "up"); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// serve makes the namespace and runs jobs in it, until there are no more.
func (n *Namespace) serve(made chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine, because it isn't like the others
	file, err := unshare()
	n.file = file
	made <- err
	if err != nil {
		return
	}
	for job := range n.jobs {
		job()
	}
}

// unshare gives this thread a network namespace of its own.
func unshare() (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	file, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("open the network namespace: %w", err)
	}
	return file, nil
}

// Close ends the thread in the namespace, and gives the namespace back.
func (n *Namespace) Close() {
	close(n.jobs)
	_ = n.file.Close()
}

// Path is the file by which other programs find the namespace while this process runs.
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// Args returns the command line that runs a program in the namespace. The program takes the place of nsenter,
// so that it keeps the process id.
func (n *Namespace) Args(command ...string) []string {
	return append([]string{"nsenter", "--net=" + n.Path(), "--"}, command...)
}

// Command runs a program in the namespace and waits for its end.
func (n *Namespace) Command(command ...string) error { return n.Feed("", command...) }

// Feed is Command with an input for the program.
func (n *Namespace) Feed(input string, command ...string) error {
	args := n.Args(command...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Do runs f on the thread in the namespace and waits for its end: sockets that f opens are in the
// namespace, those that goroutines of f open are not. What waits for packets is better done
// elsewhere.
func (n *Namespace) Do(f func() error) error {
	done := make(chan error, 1)
	n.jobs <- func() { done <- f() }
	return <-done
}

// Missing returns what this machine lacks for network namespaces with nftables, or nil.
func Missing() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	for _, program := range []string{"ip", "nft", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s isn't installed: run `make deps`", program)
		}
	}
	n, err := New()
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.Command("nft", "add", "table", "inet", "signpost"); err != nil {
		return fmt.Errorf("this kernel has no nftables: %w", err)
	}
	return nil
}

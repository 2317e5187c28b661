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

// Namespace is a network namespace.
type Namespace struct {
	file   *os.File
	jobs   chan func()
	closed chan struct{}
}

// New makes a network namespace whose loopback interface is up.
func New() (*Namespace, error) {
	type made struct {
		file *os.File
		err  error
	}
	result := make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine, because it isn't like the others
		file, err := unshare()
		result <- made{file, err}
	}()
	r := <-result
	if r.err != nil {
		return nil, r.err
	}
	n := &Namespace{file: r.file, jobs: make(chan func()), closed: make(chan struct{})}
	if err := n.Command("ip", "link", "set", "lo", "up"); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
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

// Close ends the threads in the namespace that are idle, and gives the namespace back.
func (n *Namespace) Close() {
	close(n.closed)
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

// Go runs f on a thread in the namespace and doesn't wait for its end: sockets that f opens are in the
// namespace, those that goroutines of f open are not.
func (n *Namespace) Go(f func()) {
	select {
	case n.jobs <- f:
	default:
		go n.serve(f)
	}
}

// serve runs f, and then other functions, in a thread of its own.
func (n *Namespace) serve(f func()) {
	runtime.LockOSThread() // never unlocked, as in New
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("enter network namespace: %v", err)) // a thread in another one would send the packets there
	}
	for {
		f()
		select {
		case f = <-n.jobs:
		case <-n.closed:
			return
		}
	}
}

// Do runs f on a thread in the namespace and waits for its end.
func (n *Namespace) Do(f func() error) error {
	done := make(chan error)
	n.Go(func() { done <- f() })
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

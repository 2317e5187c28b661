package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// podNetwork has the addresses of pods and of the server. The API server refuses EndpointSlices
// with addresses of 127.0.0.0/8, so the loopback interface of the namespace has these, too.
const podNetwork = "10.77.0.0/16"

// serviceAddress is where clients find the server, as at a ClusterIP.
const serviceAddress = "10.77.255.1:8087"

// podAddress is the address of a pod of a scene; those of different scenes differ.
func podAddress(scene, pod int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 77, byte(scene), byte(pod)})
}

// namespaceVariable is set for the program in the namespace.
const namespaceVariable = "SIGNPOST_XDS_NAMESPACE"

func inside() bool { return os.Getenv(namespaceVariable) != "" }

// errSaid is the exit code of the program in the namespace, which has printed its errors.
type errSaid struct{ code int }

// Error implements error.
func (e errSaid) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// enter runs this program again, in a network namespace of its own, and returns when it has ended.
// The kernel removes the namespace with its last process.
func enter(ctx context.Context) error {
	if err := missing(); err != nil {
		fmt.Println("skipped:", err)
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	script := "ip link set lo up && ip addr add " + podNetwork + " dev lo && exec \"$0\" \"$@\""
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, self}, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return errSaid{max(ended.ExitCode(), 1)}
	}
	if err != nil {
		return fmt.Errorf("run %s in a network namespace: %w", strings.Join(os.Args, " "), err)
	}
	return nil
}

// missing returns what this machine lacks for a network namespace, or nil.
func missing() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("ip is not installed: run `make deps`")
	}
	probe := exec.Command("ip", "link")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := probe.Run(); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	return nil
}

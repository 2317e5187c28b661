// Package programtest runs programs with an admin server, such as bin/signpost, for tests.
//
// # Concurrency
//
// A Program may be used from any goroutine. Start and AwaitReady are for the goroutine of the test.
package programtest

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const (
	// stopTime is how long a program may take to end, and readyTime to be ready on a busy machine.
	stopTime, readyTime = 20 * time.Second, 2 * time.Minute
	// lastLines limits the log of a failed test.
	lastLines = 40
)

// Program is a running program.
type Program struct {
	*childprocess.Process
	// Admin is the HOST:PORT that serves /ready.
	Admin string
	// Log is its standard output and error.
	Log childprocess.Log
}

// Start starts a command, which ends with the test. admin is the address that serves /ready. A failed test
// logs the end of the program's log.
func Start(t testing.TB, cmd *exec.Cmd, admin string) *Program {
	t.Helper()
	p := &Program{Admin: admin}
	cmd.Stdout, cmd.Stderr = &p.Log, &p.Log
	var err error
	if p.Process, err = childprocess.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	t.Cleanup(func() {
		p.Stop(stopTime)
		if t.Failed() {
			t.Logf("log of %s:\n%s", cmd, p.tail())
		}
	})
	return p
}

func (p *Program) tail() string {
	lines := strings.Split(strings.TrimSpace(p.Log.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// Fetch returns the body of a response of the admin server. Another status than 200 is an error.
func (p *Program) Fetch(path string) (string, error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + p.Admin + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// AwaitReady waits until /ready reports success.
func (p *Program) AwaitReady(t testing.TB) {
	t.Helper()
	kubetest.Eventually(t, readyTime, func() error {
		select {
		case <-p.Exited():
			t.Fatalf("the program has ended:\n%s", p.tail())
		default:
		}
		_, err := p.Fetch("/ready")
		return err
	})
}

// LinesWith returns the lines of the log that contain a text in lower case.
func (p *Program) LinesWith(text string) (lines []string) {
	for line := range strings.Lines(p.Log.String()) {
		if strings.Contains(strings.ToLower(line), text) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

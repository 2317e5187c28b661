package childprocess

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Stop ends a program, however the program handles signals.
func TestStop(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		pause  bool
		within time.Duration
	}{
		"obeys":    {script: "exec sleep 600", within: time.Minute},
		"paused":   {script: "exec sleep 600", pause: true, within: time.Minute},
		"deaf":     {script: "trap '' TERM; exec sleep 600"},
		"has gone": {script: "exit 3", within: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(exec.Command("/bin/sh", "-c", tt.script), syscall.SIGKILL)
			if err != nil {
				t.Fatal(err)
			}
			if tt.pause {
				if err := p.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if name == "has gone" {
				<-p.Exited()
			}
			p.Stop(tt.within)
			if err := syscall.Kill(p.Pid(), 0); err == nil {
				t.Error("the program still runs")
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(exec.Command("/nowhere/program"), syscall.SIGKILL); err == nil {
		t.Error("no error")
	}
}

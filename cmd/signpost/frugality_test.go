package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/signpostd/signpost/internal/kubetest"
)

// A process that does nothing but write uses one core, unless the environment says how many.
func TestWritersUseOneCore(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	var writes, answersToo, publishesToo, answers config
	writes.RunsControllers = true
	answersToo.RunsControllers, answersToo.RunsDestination = true, true
	publishesToo.RunsControllers, publishesToo.RunsDNS = true, true
	answers.RunsDestination = true
	for name, test := range map[string]struct {
		config      config
		environment string
		want        int
	}{
		"only writes":     {writes, "", 1},
		"set by the user": {writes, "3", 4}, // the runtime has read it already
		"answers, too":    {answersToo, "", 4},
		"publishes, too":  {publishesToo, "", 4},
		"doesn't write":   {answers, "", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", test.environment) // which is put back
			if test.environment == "" {
				os.Unsetenv("GOMAXPROCS")
			}
			undo := beFrugal(test.config)
			if got := runtime.GOMAXPROCS(0); got != test.want {
				t.Errorf("it uses %d cores, want %d", got, test.want)
			}
			if undo(); runtime.GOMAXPROCS(0) != 4 {
				t.Errorf("%d cores are left, want 4", runtime.GOMAXPROCS(0))
			}
		})
	}
}

// What is read first is hardly collected; from then on, garbage is, unless the environment says how often.
func TestGarbageIsCollectedOnceTablesAreFilled(t *testing.T) {
	inForce := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	for environment, want := range map[string]struct{ loading, loaded int }{
		"":    {loadingGarbage, writerGarbage},
		"100": {inForce(), inForce()},
	} {
		t.Run("GOGC="+environment, func(t *testing.T) {
			t.Setenv("GOGC", environment) // which is put back
			if environment == "" {
				os.Unsetenv("GOGC")
			}
			before := inForce()
			undo := beFrugal(config{RunsControllers: true})
			if got := inForce(); got != want.loading {
				t.Errorf("while tables are filled, the heap may grow by %d %%, want %d", got, want.loading)
			}
			settled := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- collectorActor(settled).Run(ctx) }()
			close(settled)
			kubetest.Eventually(t, time.Minute, func() error {
				if got := inForce(); got != want.loaded {
					return fmt.Errorf("the heap may grow by %d %%, want %d", got, want.loaded)
				}
				return nil
			})
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if undo(); inForce() != before {
				t.Errorf("the heap may grow by %d %% in the end, want %d as before", inForce(), before)
			}
		})
	}
}

package process

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/signpostd/signpost/internal/kubetest"
	"github.com/signpostd/signpost/internal/settings"
)

// A process that only writes uses one core, unless the environment says how many.
func TestWritersUseOneCore(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	var writes, answersToo, publishesToo, answers settings.Config
	writes.RunsControllers = true
	answersToo.RunsControllers, answersToo.RunsDestination = true, true
	publishesToo.RunsControllers, publishesToo.RunsDNS = true, true
	answers.RunsDestination = true
	for name, test := range map[string]struct {
		config      settings.Config
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

// There are few collections until the tables are filled, and then none until the heap has
// grown by loadedGarbage. From then on writerGarbage counts. GOGC overrides all of this.
func TestGarbageIsCollectedOnceTablesAreFilled(t *testing.T) {
	t.Run("by itself", func(t *testing.T) {
		t.Setenv("GOGC", "") // which is put back
		os.Unsetenv("GOGC")
		before := runtimeSays(t, "/gc/gogc:percent")
		undo := beFrugal(settings.Config{RunsControllers: true})
		eventually(t, "/gc/gogc:percent", loadingGarbage, loadingGarbage)
		runtime.GC()
		read := make([]byte, 16<<20) // too little to start a collection
		settled, end := startCollector(t)
		close(settled)
		all := runtimeSays(t, "/memory/classes/heap/objects:bytes")
		eventually(t, "/gc/heap/goal:bytes", all*3/2, all*2)
		runtime.GC()
		eventually(t, "/gc/gogc:percent", writerGarbage, writerGarbage)
		runtime.KeepAlive(read)
		end()
		undo()
		eventually(t, "/gc/gogc:percent", before, before)
	})
	t.Run("as the user says", func(t *testing.T) {
		t.Setenv("GOGC", "100")
		says := runtimeSays(t, "/gc/gogc:percent")
		undo := beFrugal(settings.Config{RunsControllers: true})
		eventually(t, "/gc/gogc:percent", says, says)
		settled, end := startCollector(t)
		settled <- struct{}{} // the actor handles this before it can end
		end()
		eventually(t, "/gc/gogc:percent", says, says)
		undo()
		eventually(t, "/gc/gogc:percent", says, says)
	})
}

// startCollector runs the actor until the function that it returns is called.
func startCollector(t *testing.T) (settled chan struct{}, end func()) {
	settled = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- collectorActor(settled).Run(ctx) }()
	return settled, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// runtimeSays returns a figure of runtime/metrics.
func runtimeSays(t *testing.T, name string) uint64 {
	t.Helper()
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		t.Fatalf("the runtime has no metric %s", name)
	}
	return sample[0].Value.Uint64()
}

// eventually waits for a figure of runtime/metrics.
func eventually(t *testing.T, name string, atLeast, atMost uint64) {
	t.Helper()
	kubetest.Eventually(t, 10*time.Second, func() error {
		if got := runtimeSays(t, name); got < atLeast || got > atMost {
			return fmt.Errorf("%s is %d, want %d to %d", name, got, atLeast, atMost)
		}
		return nil
	})
}

// The heap may grow by a percentage of all that is there, however little the last collection
// found.
func TestLoadedPercent(t *testing.T) {
	for _, test := range []struct {
		live, all uint64
		want      int
	}{
		{live: 100, all: 100, want: loadedGarbage},
		{live: 4 << 20, all: 40 << 20, want: 10*(100+loadedGarbage) - 100},
		{live: 0, all: 3 << 20, want: writerGarbage},
	} {
		if got := loadedPercent(test.live, test.all); got != test.want {
			t.Errorf("%d of %d bytes are known to be live: %d %%, want %d", test.live, test.all, got, test.want)
		}
	}
}

package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dev/lab/history"
)

// notes is a Recorder and an Injector that stores its calls with their times.
type notes struct {
	start time.Time
	fail  map[string]error // by "begin 3" or "end 3"
	takes time.Duration    // duration of a begin and of an end

	mu    sync.Mutex
	lines []string
}

func (n *notes) Now() time.Duration { return time.Since(n.start) }

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf("%s ", n.Now())+fmt.Sprintf(format, args...))
}

func (n *notes) sorted() []string {
	slices.Sort(n.lines)
	return n.lines
}

func (n *notes) Record(e history.Entry) {
	n.add("recorded %d %s %s %q ended=%t", e.Fault.ID, e.Fault.Kind, e.Fault.Target, e.Fault.Detail, e.Fault.Ended)
}

func (n *notes) inject(_ context.Context, f Fault) (End, error) {
	n.add("begin %d", f.ID)
	n.pass()
	if err := n.fail[fmt.Sprint("begin ", f.ID)]; err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.add("end %d", f.ID)
		n.pass()
		return n.fail[fmt.Sprint("end ", f.ID)]
	}, nil
}

func (n *notes) pass() { <-time.After(n.takes) }

var three = []Fault{
	{ID: 1, At: time.Second, Until: 10 * time.Second, Kind: Pause, Target: "replica-a"},
	{ID: 2, At: 2 * time.Second, Until: 4 * time.Second, Kind: Delay, Target: "replica-b→bind", Delay: time.Second},
	{ID: 3, At: 20 * time.Second, Until: 20 * time.Second, Kind: EtcdCompact, Target: Etcd},
}

// TestRun shows that faults begin and end at their times, and that the records enclose the calls of the
// Injector.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{start: time.Now(), takes: time.Millisecond}
		if err := Run(t.Context(), three, n.inject, n); err != nil {
			t.Fatal(err)
		}
		want := []string{
			`10.001s recorded 1 pause replica-a "" ended=true`,
			`10s end 1`,
			`1s begin 1`,
			`1s recorded 1 pause replica-a "" ended=false`,
			`20.001s end 3`,
			`20.002s recorded 3 etcd-compact etcd "" ended=true`,
			`20s begin 3`,
			`20s recorded 3 etcd-compact etcd "" ended=false`,
			`2s begin 2`,
			`2s recorded 2 delay replica-b→bind "delay 1s" ended=false`,
			`4.001s recorded 2 delay replica-b→bind "delay 1s" ended=true`,
			`4s end 2`,
		}
		if diff := cmp.Diff(want, n.sorted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestRunIsStopped shows that active faults end at once when the context ends, with a context that hasn't
// ended, and that no other fault begins.
func TestRunIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		n := &notes{start: time.Now()}
		err := Run(ctx, three, n.inject, n)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		text := strings.Join(n.sorted(), "\n")
		if !strings.Contains(text, "5s end 1") || !strings.Contains(text, `5s recorded 1 pause replica-a "" ended=true`) || strings.Contains(text, "begin 3") {
			t.Errorf("got:\n%s", text)
		}
		if n.Now() != 5*time.Second {
			t.Errorf("it took %s", n.Now())
		}
	})
}

// TestRunFails shows that an error of the Injector is returned, and ends the active faults.
func TestRunFails(t *testing.T) {
	broken := errors.New("broken")
	for step, want := range map[string]string{
		"begin 2": "begin fault 2, delay of replica-b→bind: broken",
		"end 2":   "end fault 2, delay of replica-b→bind: broken",
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &notes{start: time.Now(), fail: map[string]error{step: broken}}
			err := Run(t.Context(), three, n.inject, n)
			if !errors.Is(err, broken) || err.Error() != want {
				t.Errorf("%s: error %v, want %s", step, err, want)
			}
			text := strings.Join(n.sorted(), "\n")
			if !strings.Contains(text, "end 1") || strings.Contains(text, "begin 3") || n.Now() > 4*time.Second {
				t.Errorf("%s: after %s:\n%s", step, n.Now(), text)
			}
		})
	}
}

// TestRunReturnsAllErrors shows that an end that fails doesn't hide another one.
func TestRunReturnsAllErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		n := &notes{start: time.Now(), fail: map[string]error{"end 1": first, "end 2": second}}
		if err := Run(t.Context(), three, n.inject, n); !errors.Is(err, first) || !errors.Is(err, second) {
			t.Errorf("error %v", err)
		}
	})
}

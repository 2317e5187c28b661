package scale

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

// stormNice is the niceness of the proxies of a herd. Those of a mesh have processors of their own; here
// they share two with the server and with the streams whose delays are measured.
const stormNice = 19

// stormResult is what the proxies of a herd say when all streams have an answer or have failed.
type stormResult struct {
	Took              time.Duration   // until the last answer
	First             []time.Duration // from the connection to the first answer, of each stream
	Failed, Exhausted int64           // streams; the second are those with RESOURCE_EXHAUSTED
	Failure           string          // the first one
}

// stormProxies is what the process of a herd's proxies is told.
type stormProxies struct {
	simulation.Size
	addr    string
	proxies int
	spread  time.Duration
}

// RunStorm is the process of a herd's proxies. It uses one core at most, prints a herdResult, and stays until it is ended.
func RunStorm(ctx context.Context, args []string) error {
	runtime.GOMAXPROCS(1)
	var p stormProxies
	fs := flag.NewFlagSet("herd", flag.ExitOnError)
	fs.StringVar(&p.addr, "addr", "", "address of the server")
	fs.IntVar(&p.Services, "services", 0, "Services of the simulated cluster")
	fs.IntVar(&p.Pods, "pods", 0, "pods of each Service")
	fs.IntVar(&p.proxies, "proxies", 0, "proxies that connect")
	fs.DurationVar(&p.spread, "spread", 0, "time over which they do so")
	if err := fs.Parse(args); err != nil {
		return err
	}
	m := &mesh.Mesh{Size: p.Size, Addr: p.addr, Proxies: p.proxies, Profiles: true}
	begun := time.Now()
	if err := m.Open(ctx, p.spread); err != nil {
		return err
	}
	result := stormResult{Took: time.Since(begun), First: m.FirstAnswers(), Failed: m.Ended.Load(), Exhausted: m.Exhausted.Load()}
	if err := m.Failed(); err != nil {
		result.Failure = err.Error()
	}
	defer m.Close()
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// come starts the process of the proxies in dir, and waits until each stream has an answer or has failed. The streams
// stay until leave is called.
func (p stormProxies) come(ctx context.Context, dir string) (result stormResult, leave func(), err error) {
	child, err := measure.StartSelf(ctx, dir, stormNice, "storm", "--addr", p.addr,
		"--services", fmt.Sprint(p.Services), "--pods", fmt.Sprint(p.Pods), "--proxies", fmt.Sprint(p.proxies), "--spread", p.spread.String())
	if err != nil {
		return stormResult{}, nil, err
	}
	leave = func() {
		child.Stop()
		_ = os.Remove(child.Log) // the next herd's begins anew
	}
	err = measure.PollSlowly(ctx, 3*time.Minute, func() bool {
		return json.Unmarshal([]byte(child.LastLine()), &result) == nil || child.Ended() != nil
	})
	if err == nil {
		err = child.Ended()
	}
	if err != nil {
		leave()
		return stormResult{}, nil, fmt.Errorf("run the proxies of a herd: %w", err)
	}
	return result, leave, nil
}

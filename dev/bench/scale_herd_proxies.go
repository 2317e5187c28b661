package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

// herdNice is the niceness of the proxies of a herd. Those of a mesh have processors of their own; here
// they share two with the server and with the streams whose delays are measured.
const herdNice = 19

// herdResult is what the proxies of a herd say when all streams have an answer or have failed.
type herdResult struct {
	Took              time.Duration   // until the last answer
	First             []time.Duration // from the connection to the first answer, of each stream
	Failed, Exhausted int64           // streams; the second are those with RESOURCE_EXHAUSTED
	Failure           string          // the first one
}

// herdProxies is what the process of a herd's proxies is told.
type herdProxies struct {
	simulated
	addr    string
	proxies int
	spread  time.Duration
}

// runHerdProxies is the process of a herd's proxies. It uses one core at most, prints a herdResult, and stays until it is ended.
func runHerdProxies(ctx context.Context, args []string) error {
	runtime.GOMAXPROCS(1)
	var p herdProxies
	fs := flag.NewFlagSet("herd", flag.ExitOnError)
	fs.StringVar(&p.addr, "addr", "", "address of the server")
	fs.IntVar(&p.services, "services", 0, "Services of the simulated cluster")
	fs.IntVar(&p.pods, "pods", 0, "pods of each Service")
	fs.IntVar(&p.proxies, "proxies", 0, "proxies that connect")
	fs.DurationVar(&p.spread, "spread", 0, "time over which they do so")
	if err := fs.Parse(args); err != nil {
		return err
	}
	m := &mesh{simulated: p.simulated, addr: p.addr, proxies: p.proxies, profiles: true}
	begun := time.Now()
	if err := m.open(ctx, p.spread); err != nil {
		return err
	}
	result := herdResult{Took: time.Since(begun), First: m.firstAnswers(), Failed: m.ended.Load(), Exhausted: m.exhausted.Load()}
	if err := m.failed(); err != nil {
		result.Failure = err.Error()
	}
	defer m.close()
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// come starts the process of the proxies in dir, and waits until each stream has an answer or has failed. The streams
// stay until leave is called.
func (p herdProxies) come(ctx context.Context, dir string) (result herdResult, leave func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return herdResult{}, nil, err
	}
	child, err := start(ctx, dir, "nice", "-n", fmt.Sprint(herdNice), self, "herd", "--addr", p.addr,
		"--services", fmt.Sprint(p.services), "--pods", fmt.Sprint(p.pods), "--proxies", fmt.Sprint(p.proxies), "--spread", p.spread.String())
	if err != nil {
		return herdResult{}, nil, err
	}
	leave = func() {
		child.stop()
		_ = os.Remove(child.log) // the next herd's begins anew
	}
	err = pollSlowly(ctx, 3*time.Minute, func() bool {
		return json.Unmarshal([]byte(child.lastLine()), &result) == nil || child.ended() != nil
	})
	if err == nil {
		err = child.ended()
	}
	if err != nil {
		leave()
		return herdResult{}, nil, fmt.Errorf("run the proxies of a herd: %w", err)
	}
	return result, leave, nil
}

// Command clockprogram measures its own clock against the machine's, and prints what it measured as JSON.
//
// It takes the machine's time from the kernel by a system call, which no edit of package time changes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// span is how long each way of waiting waits, by the process's clock.
const span = 300 * time.Millisecond

// report is what was measured.
type report struct {
	// Waits has, for each way of waiting for span, how long the fastest of three took by the machine's clock.
	Waits map[string]time.Duration
	// Passed has, for each way of reading a clock, how much time passed by it, between two times of
	// the machine's.
	Passed map[string]bounded
	// Offset is how far the process's wall clock was ahead at its start.
	Offset bounded
}

// bounded is a time of the process, which the machine's clock says is at least Least and at most Most.
type bounded struct{ Least, Own, Most time.Duration }

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(measure()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure() report {
	before, wallBefore := machine(monotonic), machine(realtime)
	start := time.Now()
	after, wallAfter := machine(monotonic), machine(realtime)
	own := time.Duration(start.UnixNano())

	waits := measureWaits()
	passed := map[string]bounded{}
	for name, read := range map[string]func() time.Duration{
		"since":     func() time.Duration { return time.Since(start) },
		"until":     func() time.Duration { return -time.Until(start) },
		"monotonic": func() time.Duration { return time.Now().Sub(start) },
		"wall":      func() time.Duration { return time.Now().Round(0).Sub(start) },
	} {
		least := machine(monotonic) - after
		p := read()
		passed[name] = bounded{Least: least, Own: p, Most: machine(monotonic) - before}
	}
	return report{Waits: waits, Passed: passed, Offset: bounded{Least: own - wallAfter, Own: own - wallBefore, Most: own - wallBefore}}
}

// measureWaits waits in all ways at once, three times.
func measureWaits() map[string]time.Duration {
	var lock sync.Mutex
	fastest := map[string]time.Duration{}
	for range 3 {
		var waiting sync.WaitGroup
		for name, way := range ways() {
			waiting.Go(func() {
				took := -machine(monotonic)
				way()
				took += machine(monotonic)
				lock.Lock()
				defer lock.Unlock()
				if best, ok := fastest[name]; !ok || took < best {
					fastest[name] = took
				}
			})
		}
		waiting.Wait()
	}
	return fastest
}

func ways() map[string]func() {
	return map[string]func(){
		"Sleep":    func() { time.Sleep(span) },
		"NewTimer": func() { <-time.NewTimer(span).C },
		"After":    func() { <-time.After(span) },
		"Timer.Reset": func() {
			timer := time.NewTimer(time.Hour)
			timer.Reset(span)
			<-timer.C
		},
		"AfterFunc": func() {
			done := make(chan struct{})
			time.AfterFunc(span, func() { close(done) })
			<-done
		},
		"NewTicker": func() { tick(time.NewTicker(span / 3)) },
		"Ticker.Reset": func() {
			ticker := time.NewTicker(time.Hour)
			ticker.Reset(span / 3)
			tick(ticker)
		},
		"context.WithTimeout": func() {
			ctx, cancel := context.WithTimeout(context.Background(), span)
			defer cancel()
			<-ctx.Done()
		},
		"net.Conn.SetReadDeadline": func() {
			conn := silentConn()
			defer func() { _ = conn.Close() }()
			_ = conn.SetReadDeadline(time.Now().Add(span))
			if _, err := conn.Read(make([]byte, 1)); !os.IsTimeout(err) {
				panic(fmt.Sprintf("read: %v, want a timeout", err))
			}
		},
	}
}

func tick(ticker *time.Ticker) {
	defer ticker.Stop()
	for range 3 {
		<-ticker.C
	}
}

// silentConn is a connection on which nothing ever comes.
func silentConn() net.Conn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	return conn
}

// Clocks of clock_gettime(2).
const (
	realtime  = 0
	monotonic = 1
)

// machine is the time of one of the kernel's clocks.
func machine(clock uintptr) time.Duration {
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(now.Nano())
}

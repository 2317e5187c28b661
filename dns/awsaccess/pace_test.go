package awsaccess

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// usual is the rate at Route 53, which answers five requests a second.
const usual = 4.5

// Never more than five requests are sent within a second, and one that writes is sent before
// all that read, within a quarter of a second.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(usual)
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan time.Time, 1000)
		for range 40 {
			go func() {
				if p.Wait(ctx, Reading) == nil {
					sent <- time.Now()
				}
			}()
		}
		time.Sleep(3 * time.Second)
		for range 20 {
			begun := time.Now()
			if err := p.Wait(ctx, Writing); err != nil || time.Since(begun) > 250*time.Millisecond {
				t.Errorf("a request to write waited for %v: %v", time.Since(begun), err)
			}
			sent <- time.Now()
		}
		time.Sleep(5 * time.Second)
		cancel()
		synctest.Wait()
		close(sent)
		var times []time.Time
		for at := range sent {
			times = append(times, at)
		}
		if len(times) < 40 {
			t.Errorf("%d requests were sent", len(times))
		}
		for i := 5; i < len(times); i++ {
			if gap := times[i].Sub(times[i-5]); gap < time.Second {
				t.Errorf("six requests within %v", gap)
			}
		}
		if err := p.Wait(ctx, Reading); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Each answer that there are too many requests halves the rate; each other one raises it a
// little, up to the usual one.
func TestPaceAdapts(t *testing.T) {
	p := NewPace(usual)
	p.Throttled()
	if p.rate != usual/2 {
		t.Errorf("the rate is %v", p.rate)
	}
	for range 10 {
		p.Throttled()
	}
	if p.rate != usual*lowest {
		t.Errorf("the rate is %v", p.rate)
	}
	for range 1000 {
		p.Succeeded()
	}
	if p.rate != usual {
		t.Errorf("the rate is %v", p.rate)
	}
}

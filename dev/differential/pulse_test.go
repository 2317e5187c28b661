package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// A slow request counts while it is under way and for a while after that.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		beat := func(d time.Duration) {
			_ = p.measure(func() error { time.Sleep(d); return nil })
		}
		want := func(want time.Duration) {
			t.Helper()
			if got := p.slowest(); got != want {
				t.Errorf("the slowest request took %s, want %s", got, want)
			}
		}
		want(0)
		beat(time.Second)
		beat(10 * time.Millisecond)
		want(time.Second)
		time.Sleep(pulseFor)
		want(10 * time.Millisecond)
		time.Sleep(pulseFor)
		want(0)
		go beat(5 * time.Second)
		time.Sleep(2 * time.Second)
		want(2 * time.Second)
		time.Sleep(4 * time.Second)
		want(5 * time.Second)
		for range 100 {
			time.Sleep(time.Second)
			beat(0)
		}
		if n := len(p.beats); n > 12 {
			t.Errorf("%d beats are remembered", n)
		}
	})
}

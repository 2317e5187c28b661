package panics

import (
	"strings"
	"testing"
)

// A panic that continues in another goroutine keeps the location and the stack of its origin.
func TestCarried(t *testing.T) {
	caught := func(f func()) (c *Carried) {
		defer func() { c = Of(recover()) }()
		f()
		return nil
	}
	first := caught(crashAtOnce)
	if first.Value != "on purpose" || !strings.Contains(first.At, "panics.crashAtOnce:") || !strings.Contains(string(first.Stack), "crashAtOnce") {
		t.Errorf("the panic is %v at %s", first.Value, first.At)
	}
	if again := caught(func() { panic(first) }); again != first {
		t.Errorf("the panic that continues is %v at %s", again.Value, again.At)
	}
}

func crashAtOnce() { panic("on purpose") }

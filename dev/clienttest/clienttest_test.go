package clienttest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := Await(t.Context(), time.Minute, "a second", func() bool { return time.Since(begun) >= time.Second }); err != nil || time.Since(begun) > time.Second+poll {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if err := Await(t.Context(), time.Second, "never", func() bool { return false }); err == nil || !strings.HasPrefix(err.Error(), "never: not within 1s") {
			t.Errorf("what never holds: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Await(ctx, time.Minute, "ended", func() bool { return false }); err == nil {
			t.Error("no error after the end of the context")
		}
	})
}

func TestPrintTable(t *testing.T) {
	var b strings.Builder
	PrintTable(&b, [][]string{{"Scene", "Calls"}, {"rollout", Thousands(1234567)}, {"–", Thousands(12)}})
	want := "| Scene   | Calls     |\n| ------- | --------- |\n| rollout | 1,234,567 |\n| –       | 12        |\n"
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
}

package longtest

import (
	"flag"
	"testing"
)

// setShort sets -short until the test ends.
func setShort(t *testing.T) (set func(short string)) {
	set = func(short string) {
		if err := flag.Set("test.short", short); err != nil {
			t.Error(err)
		}
	}
	before := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() { set(before) })
	return set
}

func TestRounds(t *testing.T) {
	set := setShort(t)
	for short, want := range map[string]map[int][2]int{
		"false": {0: {0, 0}, 1: {1, 1}, 10: {10, 10}, 1000: {1000, 1000}},
		"true":  {0: {0, 0}, 1: {1, 1}, 3: {2, 2}, 10: {2, 2}, 1000: {200, 50}},
	} {
		set(short)
		for n, rounds := range want {
			if got := [2]int{Rounds(n), CostlyRounds(n)}; got != rounds {
				t.Errorf("-short=%s: %d of %d rounds and costly rounds, want %d", short, got, n, rounds)
			}
		}
	}
}

func TestOnly(t *testing.T) {
	set := setShort(t)
	for _, short := range []string{"false", "true"} {
		set(short)
		ran := false
		t.Run("short="+short, func(t *testing.T) {
			Only(t, "a reason")
			ran = true
		})
		if ran != (short == "false") {
			t.Errorf("-short=%s: the test ran: %v", short, ran)
		}
	}
}

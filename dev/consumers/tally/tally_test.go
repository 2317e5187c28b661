package tally

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A slow attempt delays no other one, and Stop waits for it.
func TestLoadKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		l := Start(200, func() (string, string) {
			time.Sleep(time.Second)
			return "", "timeout"
		})
		time.Sleep(2*time.Second + time.Millisecond)
		o := l.Stop()
		if len(o) != 400 || o.Failed() != 400 {
			t.Errorf("%d attempts, %d failed; want 400 of both", len(o), o.Failed())
		}
		if took := time.Since(begun); took < 3*time.Second {
			t.Errorf("Stop returned after %s, before the last attempts ended", took)
		}
	})
}

func TestOutcomes(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	o := Outcomes{
		{Begun: at(0), Ended: at(9), By: "a"},
		{Begun: at(1), Ended: at(1), Failure: "refused"},
		{Begun: at(2), Ended: at(2), By: "a"},
		{Begun: at(3), Ended: at(4), Failure: "timeout"},
		{Begun: at(4), Ended: at(5), By: "b"},
	}
	if got := o.Since(at(2)).Failed(); got != 1 {
		t.Errorf("%d failures since 2 s, want 1", got)
	}
	if last, ok := o.LastFailure(); !ok || !last.Equal(at(3)) {
		t.Errorf("last failure %v %v", last, ok)
	}
	if first, ok := o.First("a"); !ok || !first.Equal(at(2)) {
		t.Errorf("first answer of a %v %v", first, ok)
	}
	if _, ok := o.First("c"); ok {
		t.Error("c has answered")
	}
	if _, ok := o.Since(at(4)).LastFailure(); ok {
		t.Error("a failure after 4 s")
	}
}

func TestScenesPass(t *testing.T) {
	for name, tt := range map[string]struct {
		scene Scene
		want  bool
	}{
		"no failures":          {Scene{}, true},
		"fewer":                {Scene{Signpost: Result{Failed: 1}, Kubernetes: Result{Failed: 2}}, true},
		"one more":             {Scene{Signpost: Result{Failed: 2}, Kubernetes: Result{Failed: 1}}, false},
		"as many as chance":    {Scene{Signpost: Result{Failed: 11}, Kubernetes: Result{Failed: 1}, Chance: 10}, true},
		"more than chance":     {Scene{Signpost: Result{Failed: 12}, Kubernetes: Result{Failed: 1}, Chance: 10}, false},
		"not played to an end": {Scene{Errors: []error{errors.New("no cluster")}}, false},
	} {
		if got := tt.scene.Passed(); got != tt.want {
			t.Errorf("%s: passed %v", name, got)
		}
	}
}

func TestPrint(t *testing.T) {
	s := Scene{Title: "rollout", Counts: "failed connections"}
	s.Signpost.Count(slices.Repeat(Outcomes{{Failure: "refused"}, {By: "a"}, {Failure: "timeout"}, {Failure: "timeout"}}, 500))
	s.Kubernetes.Count(slices.Repeat(Outcomes{{By: "a"}}, 1200))
	for _, took := range []time.Duration{3, 1, 2} {
		s.Signpost.Took("ready to first connection", took*time.Second)
	}
	s.Signpost.Never("ready to first connection")
	s.Kubernetes.Never("ready to first connection")
	var got strings.Builder
	Print(&got, []Scene{s})
	want := `
| Scene   | Measured                  | Signpost                                       | Kubernetes |
| ------- | ------------------------- | ---------------------------------------------- | ---------- |
| rollout | failed connections        | 1,500 of 2,000 (timeout 1,000, refused 500)    | 0 of 1,200 |
|         | ready to first connection | 2.00 s, longest 3.00 s, 1 never                | never      |

rollout: Signpost has 1500 more failed connections than Kubernetes; chance explains 0
`
	if normal(got.String()) != normal(want) {
		t.Errorf("printed:\n%s\nwant:\n%s", got.String(), want)
	}
}

// normal leaves out how wide columns are.
func normal(table string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(table), " "), "-", "")
}

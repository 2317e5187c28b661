package check

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func finds(results ...Result) func(context.Context) []Result {
	return func(context.Context) []Result { return results }
}

func TestRun(t *testing.T) {
	t.Parallel()
	ok, failed, note := Result{State: OK, Text: "fine"}, Result{State: Failed, Text: "wrong", Hint: "mend it"}, Result{State: Note, Text: "hm"}
	obeys := func(ctx context.Context) []Result {
		<-ctx.Done()
		return []Result{{State: Unknown, Text: reason(ctx.Err())}}
	}
	for name, test := range map[string]struct {
		checks []Check
		want   string
		code   int
	}{
		"nothing":                  {want: "Everything that Signpost needs is there: "},
		"fit":                      {checks: []Check{{Group: "a", Run: finds(ok)}, {Group: "a", Run: finds(note)}, {Group: "b", Run: finds(ok)}}, want: "a\n  ok       fine\n  note     hm\n\nb\n  ok       fine\n\nEverything that Signpost needs is there: 1 note, 2 ok"},
		"others go on":             {checks: []Check{{Group: "a", AskAPI: true, Run: finds(ok)}, {Group: "b", AskAPI: true, Run: finds(failed)}, {Group: "c", Run: finds(ok)}}, want: "a\n  ok       fine\n\nb\n  failed   wrong\n           mend it\n\nc\n  ok       fine\n\nSomething is wrong: 1 failed, 2 ok", code: 1},
		"one hint for several":     {checks: []Check{{Group: "a", Run: finds(failed, failed, ok)}}, want: "a\n  failed   wrong\n  failed   wrong\n           mend it\n  ok       fine\n\nSomething is wrong: 2 failed, 1 ok", code: 1},
		"one that ends when told":  {checks: []Check{{Group: "a", Run: obeys}}, want: "a\n  unknown  no answer in time\n\nSomething couldn't be found out: 1 unknown", code: 2},
		"an API server that hangs": {checks: []Check{{Group: "a", AskAPI: true, Run: obeys}, {Group: "b", About: "that", AskAPI: true, Run: finds(failed)}, {Group: "c", Run: finds(ok)}}, want: "a\n  unknown  no answer in time\n\nb\n  unknown  that couldn't be checked, because the API server is unreachable\n\nc\n  ok       fine\n\nSomething couldn't be found out: 2 unknown, 1 ok", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(t *testing.T) {
				report := Run(context.Background(), test.checks, time.Second)
				var b strings.Builder
				if err := report.Write(&b, FormatTable, NoColors); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want+"\n", b.String()); diff != "" || report.ExitCode() != test.code {
					t.Errorf("exit code %d, want %d (-want +got):\n%s", report.ExitCode(), test.code, diff)
				}
			}
			synctest.Test(t, run)
		})
	}
}

// The report doesn't wait for a check that ignores its context.
func TestOneThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	defer close(end)
	check := Check{Group: "a", About: "this", Run: func(context.Context) []Result { <-end; return nil }}
	report := Run(context.Background(), []Check{check}, 10*time.Millisecond)
	if got := group(report, "a"); len(got) != 1 || got[0] != "unknown this couldn't be found out within 10ms" || report.ExitCode() != 2 {
		t.Errorf("exit code %d, %q", report.ExitCode(), got)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	report := Report{Groups: []Group{{Name: "a", Results: []Result{{State: OK, Text: "fine"}}}, {Name: "b", Results: []Result{{State: OK, Text: "good"}, {State: Warning, Text: "hm", Hint: "look"}}}}}
	for _, test := range []struct {
		format string
		colors Colors
		want   string
	}{
		{FormatShort, NoColors, "b\n  warning  hm\n           look\n\nEverything that Signpost needs is there: 1 warning, 2 ok\n"},
		{FormatTable, ANSIColors, "a\n  \x1b[32mok     \x1b[0m  fine\n\nb\n  \x1b[32mok     \x1b[0m  good\n  \x1b[33mwarning\x1b[0m  hm\n           look\n\n\x1b[32mEverything that Signpost needs is there\x1b[0m: 1 warning, 2 ok\n"},
		{FormatJSON, NoColors, `{
  "result": "fit",
  "groups": [
    {
      "name": "a",
      "results": [
        {
          "state": "ok",
          "text": "fine"
        }
      ]
    },
    {
      "name": "b",
      "results": [
        {
          "state": "ok",
          "text": "good"
        },
        {
          "state": "warning",
          "text": "hm",
          "hint": "look"
        }
      ]
    }
  ]
}
`},
		{FormatYAML, NoColors, "groups:\n- name: a\n  results:\n  - state: ok\n    text: fine\n- name: b\n  results:\n  - state: ok\n    text: good\n  - hint: look\n    state: warning\n    text: hm\nresult: fit\n"},
	} {
		var b strings.Builder
		if err := report.Write(&b, test.format, test.colors); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.format, diff)
		}
	}
}

// A pod that its controller has replaced, or is replacing, is no problem of the installation.
func TestReplacedPods(t *testing.T) {
	now, yes := metav1.Now(), true
	owned := metav1.ObjectMeta{Namespace: "dns", Name: "p", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "r", Controller: &yes}}}
	deleted := owned
	deleted.DeletionTimestamp = &now
	for name, test := range map[string]struct {
		pod   corev1.Pod
		wrong bool
	}{
		"evicted":            {corev1.Pod{ObjectMeta: owned, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}, false},
		"of a rollout":       {corev1.Pod{ObjectMeta: deleted, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false},
		"not ready":          {corev1.Pod{ObjectMeta: owned, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, true},
		"failed, for good":   {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, true},
		"done, as --once is": {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, false},
	} {
		why := notReady(test.pod)
		if wrong := why != "" && !replaced(test.pod); wrong != test.wrong {
			t.Errorf("%s: %v (%s), want %v", name, wrong, why, test.wrong)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\nb\x1b[31mc", strings.Repeat("x", 10000), "\xff\xfe", "a\u0085b"} {
		got := reason(errors.New(text))
		if len(got) > 2*maxReason || strings.ContainsAny(got, "\n\x1b") || !utf8.ValidString(got) {
			t.Errorf("reason(%.20q) = %q", text, got)
		}
	}
}

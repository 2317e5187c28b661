package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/longtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun shows that a short run with all parts has no findings and removes its history.
func TestRun(t *testing.T) {
	longtest.Only(t, "a run of the lab takes a minute")
	localcluster, err := kubetest.Localcluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..") // the lab runs in the root of the repository
	out := t.TempDir()
	var said, problems strings.Builder
	signpost := os.Getenv("SIGNPOST")
	if signpost == "" {
		signpost = "bin/signpost"
	}
	code := execute(t.Context(), []string{"--profile", "herd", "--seed", "5", "--duration", "30s", "--out", out, "--localcluster", localcluster, "--signpost", signpost}, &said, &problems)
	if code != 0 || !strings.Contains(said.String(), "seed 5: ") || !strings.Contains(said.String(), " 0 findings") {
		t.Fatalf("exit code %d:\n%s%s", code, &said, &problems)
	}
	if _, err := os.Stat(filepath.Join(out, "seed-5", "history.jsonl")); !os.IsNotExist(err) {
		t.Errorf("the history is still there: %v", err)
	}
}

// TestUsage shows that a wrong command line is refused with a hint.
func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--runs", "0"}, "--runs and --parallel: use 1 or more"},
		{[]string{"surplus"}, `unexpected argument "surplus"`},
		{[]string{"--mutant", "nonesuch"}, `there is no mutant "nonesuch": take late-fence`},
		{[]string{"--profile", "nonesuch"}, `there is no profile "nonesuch": take mixed`},
		{[]string{"--duration", "1s"}, "use 30s or more"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var said, problems strings.Builder
			if code := execute(t.Context(), append(tt.args, "--out", t.TempDir()), &said, &problems); code != exitUsage || !strings.Contains(problems.String(), strings.TrimSuffix(tt.want, "late-fence")) {
				t.Errorf("exit code %d: %s", code, &problems)
			}
		})
	}
}

// TestCheck checks a recorded history. A file that isn't a history is an error of the lab.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	// A record of the person exists, and is removed by the next serial without any update.
	lines := `{"seed":9,"namespace":"lab","zones":["lab.example."],"owner":"lab"}
{"at":1,"zone":{"name":"lab.example.","serial":100,"whole":true,"added":["mail.lab.example. 300 IN A 192.0.2.1"]}}
{"at":2000000000,"zone":{"name":"lab.example.","serial":101,"removed":["mail.lab.example. 300 IN A 192.0.2.1"]}}
`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var said, problems strings.Builder
	if code := execute(t.Context(), []string{"--check", path}, &said, &problems); code != exitFindings || !strings.Contains(said.String(), "V6 at 2s: record mail.lab.example.") {
		t.Errorf("exit code %d: %s%s", code, &said, &problems)
	}
	if code := execute(t.Context(), []string{"--check", path + "x"}, &said, &problems); code != exitLab {
		t.Errorf("exit code %d for a file that isn't there", code)
	}
}

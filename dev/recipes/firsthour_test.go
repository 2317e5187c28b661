package recipes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// firstOutput is the time limit of the first command of README.md, after the build.
const firstOutput = 60 * time.Second

// TestFirstHour shows that a clean clone and the program are enough for the first output.
func TestFirstHour(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "signpost")
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--shared", root, clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v: %s", err, out)
	}
	bin := programs(t)
	if err := os.Symlink(bin, filepath.Join(clone, "bin")); err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, bin, "/dev/null")
	sh.dir = clone
	page, begin := blocks(t, "../README.md"), time.Now()
	out := sh.run(t, exits2(page["plan"]))
	took := time.Since(begin)
	t.Logf("the first output took %v", took.Round(time.Millisecond))
	if want := shown(page["plan-out"]); !want.MatchString(out) || took > firstOutput {
		t.Errorf("after %v, want %v at most, the plan is\n%s\nand README.md shows\n%s", took, firstOutput, out, page["plan-out"])
	}
}

// rows returns the cells of a page's tables.
func rows(t *testing.T, page string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if cells, ok := strings.CutPrefix(strings.TrimSpace(line), "| "); ok {
			all = append(all, strings.Split(strings.TrimSuffix(cells, " |"), " | "))
		}
	}
	return all
}

// TestCauses shows that each row of docs/troubleshooting.md has the output of signpost explain in its case,
// for six missing endpoints and four missing records. The tests of app/process and app/dnsinspect run the
// cases.
func TestCauses(t *testing.T) {
	dirs := map[string]string{"endpoint": "../../app/process/testdata/explain", "record": "../../app/dnsinspect/testdata"}
	count := map[string]int{}
	for _, row := range rows(t, "troubleshooting.md") {
		if len(row) != 5 || dirs[row[0]] == "" {
			continue
		}
		count[row[0]]++
		answer, name := strings.Trim(row[3], "`"), row[4]
		text, err := os.ReadFile(filepath.Join(dirs[row[0]], name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		verdict := regexp.MustCompile(`(?m)^wrong: .*` + regexp.QuoteMeta(answer) + `$`)
		if !verdict.Match(text) {
			t.Errorf("%s doesn't answer %q", name, answer)
		}
	}
	if count["endpoint"] != 6 || count["record"] != 4 {
		t.Errorf("there are %v causes, want six of endpoints and four of records", count)
	}
}

// TestServiceLevels shows that docs/slo.md has an objective for each alert that pages, and no unknown alert.
func TestServiceLevels(t *testing.T) {
	alerts, err := os.ReadFile("../../deploy/observe/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	severity := map[string]string{}
	for _, found := range regexp.MustCompile(`alert: (\w+)(?s:.*?)severity: (\w+)`).FindAllStringSubmatch(string(alerts), -1) {
		severity[found[1]] = found[2]
	}
	page, err := os.ReadFile("../../docs/slo.md")
	if err != nil {
		t.Fatal(err)
	}
	watched := map[string]bool{}
	for _, name := range regexp.MustCompile("`(Signpost\\w+)`").FindAllStringSubmatch(string(page), -1) {
		watched[name[1]] = true
		if severity[name[1]] == "" {
			t.Errorf("there is no alert %s", name[1])
		}
	}
	for name, s := range severity {
		if s == "page" && !watched[name] {
			t.Errorf("%s pages, and watches no objective", name)
		}
	}
	if len(severity) < 20 || len(watched) < 10 {
		t.Errorf("found %d alerts and %d in objectives", len(severity), len(watched))
	}
}

// TestMemoryLimits shows that the limits of docs/performance.md follow its formula, and that the first one is
// the default of the chart.
func TestMemoryLimits(t *testing.T) {
	limit := regexp.MustCompile(`^(\d+)(Mi|Gi)\b`)
	number := func(s string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	checked := 0
	for _, row := range rows(t, "performance.md") {
		if len(row) != 4 || !limit.MatchString(row[2]) {
			continue
		}
		found := limit.FindStringSubmatch(row[2])
		has := number(found[1]) << 10 // in KiB
		if found[2] == "Gi" {
			has <<= 10
		}
		if needs := 128<<10 + 4*number(row[0]) + 75*number(row[1]); has < needs || has > needs+needs/3 {
			t.Errorf("%v: the limit is %d KiB, the rule says %d", row, has, needs)
		}
		if strings.Contains(row[2], "default") {
			values, err := os.ReadFile("../../deploy/helm/signpost/values.yaml")
			if err != nil || !strings.Contains(string(values), "limits:\n    memory: "+found[0]+"\n") {
				t.Errorf("the default of the chart isn't %s (%v)", found[0], err)
			}
		}
		checked++
	}
	if checked != 4 {
		t.Errorf("%d limits were found, want 4", checked)
	}
}

package observe

import (
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/signpostd/signpost/internal/golden"
)

// root is the root of the repository.
const root = "../.."

var promql = parser.NewParser(parser.Options{})

// generated returns the text of each file by its path below deploy/observe, and below files of the chart.
// The alerts are not generated: the chart has a copy of them.
func generated(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"alerts.yaml": string(ruleFile(t))}
	for _, d := range Dashboards() {
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		files["dashboards/"+d.Name+".json"] = text
	}
	return files
}

// The files are what the Go values and the alerts say; -update writes them.
func TestGenerated(t *testing.T) {
	for name, want := range generated(t) {
		for _, dir := range []string{"deploy/observe", "deploy/helm/signpost/files"} {
			path := filepath.Join(root, dir, name)
			if golden.Update() {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s is stale: run go test -C dev/observe . -run Generated -update (-want +got):\n%s", path, diff)
			}
		}
	}
}

// headings are those of each page about an alert, in this order.
var headings = []string{"## Meaning", "## Impact", "## Diagnosis", "## Mitigation", "## When to ignore it"}

// promqlBlock matches a query in a page.
var promqlBlock = regexp.MustCompile("(?s)```promql\n(.*?)```")

// Each alert has a page with all headings and queries that parse, which the index lists; there is
// no page without an alert.
func TestRunbooks(t *testing.T) {
	dir := filepath.Join(root, "docs/runbooks")
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{"README.md": true}
	for _, a := range allAlerts(t) {
		pages[runbookOf(a)] = true
		text, err := os.ReadFile(filepath.Join(dir, runbookOf(a)))
		if err != nil {
			t.Error(err)
			continue
		}
		checkRunbook(t, a, string(text))
		if !strings.Contains(string(index), "]("+runbookOf(a)+")") {
			t.Errorf("the index has no link to %s", runbookOf(a))
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f.Name()] {
			t.Errorf("%s is about no alert", f.Name())
		}
	}
}

func checkRunbook(t *testing.T, a rulefmt.Rule, text string) {
	t.Helper()
	if !strings.HasPrefix(text, "# "+a.Alert+"\n") {
		t.Errorf("%s doesn't begin with its alert, %s", runbookOf(a), a.Alert)
	}
	rest := text
	for _, h := range headings {
		_, after, found := strings.Cut(rest, "\n"+h+"\n")
		if !found {
			t.Errorf("%s has no %q in its place", runbookOf(a), h)
			continue
		}
		rest = after
	}
	for _, query := range promqlBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(query[1]) {
			if _, err := promql.ParseExpr(line); err != nil {
				t.Errorf("%s: %s: %v", runbookOf(a), line, err)
			}
		}
	}
}

// ruleFile returns the text of the rule file.
func ruleFile(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/observe/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// allAlerts returns the alerts of all groups. The test fails if Prometheus does not accept the rule file.
func allAlerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	file, errs := rulefmt.Parse(ruleFile(t), false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Fatal(err)
	}
	var all []rulefmt.Rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// runbookOf returns the name of the page about an alert in docs/runbooks.
func runbookOf(a rulefmt.Rule) string { return path.Base(a.Annotations["runbook_url"]) }

// Panels have numbers of their own and lie side by side within the grid.
func TestPanels(t *testing.T) {
	for _, d := range Dashboards() {
		ids, cells := map[any]bool{}, map[[2]int]any{}
		for _, p := range d.panels() {
			if ids[p["id"]] {
				t.Errorf("%s: two panels have the id %v", d.Name, p["id"])
			}
			ids[p["id"]] = true
			at := p["gridPos"].(object)
			for x := at["x"].(int); x < at["x"].(int)+at["w"].(int); x++ {
				for y := at["y"].(int); y < at["y"].(int)+at["h"].(int); y++ {
					if x >= gridWidth || cells[[2]int{x, y}] != nil {
						t.Errorf("%s: the panel %v has no place at %d, %d", d.Name, p["title"], x, y)
					}
					cells[[2]int{x, y}] = p["title"]
				}
			}
		}
	}
}

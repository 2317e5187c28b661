package process

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/golden"
)

//go:generate go test . -run ^TestReferenceOf(Settings|DNS|AllMetrics)$ -update

// referencePage is a page about a role.
type referencePage struct {
	file string
	// config returns a config in which the role does all that it can do.
	config func() settings.Config
}

var referencePages = []referencePage{
	{file: "../../docs/destination.md", config: func() settings.Config { c := settings.Default(); c.RunsDestination = true; return c }},
	{file: "../../docs/xds.md", config: func() settings.Config { c := settings.Default(); c.RunsXDS = true; return c }},
	{file: "../../docs/controllers.md", config: func() settings.Config { c := settings.Default(); c.RunsControllers = true; return c }},
}

// The lines before and after the table of settings.
const (
	generatedBegin = "<!-- Between these two lines everything is generated: make generate -->\n"
	generatedEnd   = "<!-- end -->\n"
)

// TestReferenceOfSettings compares the tables of settings in the references with the settings;
// -update rewrites the tables.
func TestReferenceOfSettings(t *testing.T) {
	for _, r := range referencePages {
		t.Run(filepath.Base(r.file), r.testSettings)
	}
}

func (r referencePage) testSettings(t *testing.T) {
	text := r.read(t)
	before, rest, begun := strings.Cut(text, generatedBegin)
	_, after, ended := strings.Cut(rest, generatedEnd)
	if !begun || !ended {
		t.Fatalf("%s has no generated part: it is between %q and %q", r.file, generatedBegin, generatedEnd)
	}
	golden.File(t, r.file, before+generatedBegin+r.settingsTable()+generatedEnd+after)
}

func (r referencePage) read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r referencePage) settingsTable() string {
	var table strings.Builder
	table.WriteString("\n| Flag | In the config file | Default | Meaning |\n| --- | --- | --- | --- |\n")
	c := r.config()
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for _, s := range c.Settings() {
		preset := s.Value.String()
		if preset != "" {
			preset = "`" + preset + "`"
		}
		_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: s.Usage, Value: s.Value})
		fmt.Fprintf(&table, "| `--%s` | `%s` | %s | %s |\n", s.Flag, s.Path, preset, cell.Replace(usage))
	}
	table.WriteString("\n")
	return table.String()
}

var (
	// metricRow matches the first cell of a row about metrics, and metricName a name in it.
	metricRow  = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|")
	metricName = regexp.MustCompile("`([a-z_]+)`")
	// others matches metrics that the references don't list one by one.
	others = regexp.MustCompile(`^(go|process|promhttp)_`)
)

// The table of metrics in a reference has exactly the metrics that are registered.
func TestReferenceOfMetrics(t *testing.T) {
	for _, r := range referencePages {
		t.Run(filepath.Base(r.file), r.testMetrics)
	}
}

func (r referencePage) testMetrics(t *testing.T) {
	_, section, _ := strings.Cut(r.read(t), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range metricRow.FindAllStringSubmatch(section, -1) {
		for _, name := range metricName.FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, name[1])
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(registeredMetrics(t, r.config()), listed); diff != "" {
		t.Errorf("metrics in %s (-registered +listed):\n%s", r.file, diff)
	}
}

// Without the metrics of queues, all others are still there.
func TestQueueMetricsCanBeLeftOut(t *testing.T) {
	c := referencePages[0].config()
	all := registeredMetrics(t, c)
	c.Destination.ExportQueueMetrics = false
	var missing []string
	left := registeredMetrics(t, c)
	for _, name := range all {
		if !slices.Contains(left, name) {
			missing = append(missing, name)
		}
	}
	want := []string{
		"workqueue_adds_total", "workqueue_depth", "workqueue_longest_running_processor_seconds", "workqueue_queue_duration_seconds",
		"workqueue_retries_total", "workqueue_unfinished_work_seconds", "workqueue_work_duration_seconds",
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("metrics that are left out (-want +got):\n%s", diff)
	}
}

// unreachable is a kubeconfig of an API server that nobody runs.
const unreachable = `{apiVersion: v1, kind: Config, current-context: a,
  clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}]}`

// withoutAPIServer makes a config refer to an API server that nobody runs.
func withoutAPIServer(t *testing.T, c *settings.Config) {
	t.Helper()
	c.Process.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(c.Process.Kubeconfig, []byte(unreachable), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Destination, c.XDS = c.Destination.Settled(), c.XDS.Settled()
}

// registeredMetrics returns the names of the metrics of the roles of a config.
func registeredMetrics(t *testing.T, c settings.Config) []string {
	t.Helper()
	rows, err := registeredRows(t, c)
	if err != nil {
		t.Fatal(err)
	}
	delete(rows, "http_server_panics_total") // of the admin server, which has no role
	return slices.Sorted(maps.Keys(rows))
}

// registerServers registers the metrics of the gRPC servers of a process, if it has any.
func registerServers(p process, s serving) {
	if len(p.Servers) == 0 {
		return
	}
	shared := newInterceptors(s)
	for _, server := range p.Servers {
		server.actor(shared, s, nil)
	}
}

package process

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/internal/golden"
)

// TestReferenceOfDNS compares docs/dns/metrics.md with what the role registers; -update
// rewrites the page. Package main has the other pages.
func TestReferenceOfDNS(t *testing.T) {
	t.Run("metrics", func(t *testing.T) {
		body, err := describeMetrics(t)
		if err != nil {
			t.Fatal(err)
		}
		golden.Page{Name: "metrics", Title: "Metrics of signpost dns", Body: body}.Check(t)
	})
}

// describeMetrics describes what the role registers with all sources and an election.
func describeMetrics(t *testing.T) (string, error) {
	found, err := registeredRows(t, everyDNSSource())
	if err != nil {
		return "", err
	}
	rows := [][]string{{"Name", "Type", "Labels", "Help"}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		rows = append(rows, found[name])
	}
	return "[Metrics](../metrics.md) lists those of all roles. The program also has the metrics of the Go runtime, of the process and of the metrics\n" +
		"handler. With several publishers, the metrics of each have another label, `publisher`.\n\n" +
		golden.Table(rows), nil
}

// everyDNSSource returns a config of the role with all sources, an election, and the only provider
// that has metrics.
func everyDNSSource() settings.Config {
	c := settings.NewDNSFlags()
	for _, p := range plugins.Sources() {
		if p.Reads != "" {
			continue // the metrics have the names of what the user has it read
		}
		c.Publisher.Sources = append(c.Publisher.Sources, p.Name)
	}
	c.Publisher.Providers, c.Publisher.Policy = []string{"webhook"}, "sync"
	c.Config.DNS.Leader.Elect = true
	return c.Config
}

// knownMetrics is a registerer that describes what it registers: rows has a row of the page
// for each name.
type knownMetrics struct {
	prometheus.Registerer
	rows map[string][]string
	errs []error
}

// Register implements prometheus.Registerer.
func (k *knownMetrics) Register(c prometheus.Collector) error {
	if err := k.Registerer.Register(c); err != nil {
		return err
	}
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)
	for d := range descs {
		k.add(d, c)
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (k *knownMetrics) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		k.errs = append(k.errs, k.Register(c))
	}
}

// descParts matches the text of a prometheus.Desc: its name, its help, and its constant and
// variable labels.
var descParts = regexp.MustCompile(`^Desc\{fqName: "(.*)", help: (".*"), unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

func (k *knownMetrics) add(d *prometheus.Desc, c prometheus.Collector) {
	parts := descParts.FindStringSubmatch(d.String())
	if parts == nil || others.MatchString(parts[1]) {
		return
	}
	help, err := strconv.Unquote(parts[2])
	k.errs = append(k.errs, err)
	var labels []string
	for label := range strings.FieldsFuncSeq(parts[3]+","+parts[4], func(r rune) bool { return r == ',' }) {
		name, _, _ := strings.Cut(label, "=")
		labels = append(labels, name)
	}
	k.rows[parts[1]] = []string{"`" + parts[1] + "`", vectorType(c), strings.Join(labels, ", "), help}
}

// vectorType returns the type of the metrics in a vector, which may have no samples yet;
// empty for any other collector. Those of Kubernetes's package metrics are of a library.
func vectorType(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.GaugeVec, *metrics.GaugeVec:
		return "gauge"
	case *prometheus.CounterVec, *metrics.CounterVec:
		return "counter"
	case *prometheus.HistogramVec, *metrics.HistogramVec:
		return "histogram"
	case *prometheus.SummaryVec:
		return "summary"
	default:
		return ""
	}
}

package observe

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// signpost is the binary that `make build` makes.
const signpost = root + "/bin/signpost"

// target is a process of signpost.
type target struct {
	*programtest.Program
	name, grpc, xds string
}

// start starts signpost with a config file, in which ADMIN, GRPC and XDS stand for addresses, and
// variables of the environment.
func start(t *testing.T, name, config string, env ...string) *target {
	t.Helper()
	p := &target{name: name, grpc: kubetest.Address(t), xds: kubetest.Address(t)}
	admin, path := kubetest.Address(t), filepath.Join(t.TempDir(), "signpost.yaml")
	config = strings.NewReplacer("ADMIN", admin, "GRPC", p.grpc, "XDS", p.xds).Replace(config)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(signpost, "run", "--config", path)
	cmd.Env = append(cmd.Environ(), env...)
	p.Program = programtest.Start(t, cmd, admin)
	return p
}

// sample is a sample of a process.
type sample struct {
	labels labels.Labels
	value  float64
}

// scrape reads /metrics. The labels are those that the metric has, and its name.
func (p *target) scrape(t *testing.T) ([]sample, error) {
	t.Helper()
	text, err := p.Fetch("/metrics")
	if err != nil {
		return nil, err
	}
	parser := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	var samples []sample
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			t.Fatalf("read the metrics of %s: %v", p.name, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		parser.Labels(&l)
		_, _, value := parser.Series()
		samples = append(samples, sample{l, value})
	}
}

// A prometheus scrapes processes and evaluates all alerts, at times of its own.
type prometheus struct {
	t       *testing.T
	storage *teststorage.TestStorage
	*evaluator
	begun, now time.Time
	targets    []*target
}

// step is the time between two scrapes.
const step = 30 * time.Second

func newPrometheus(t *testing.T, targets ...*target) *prometheus {
	t.Helper()
	s := teststorage.New(t)
	t.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	return &prometheus{t: t, storage: s, evaluator: newEvaluator(t, s, allAlerts(t)), begun: now, now: now, targets: targets}
}

// scrapeAll scrapes all processes once, evaluates the alerts, and lets a step of its own time pass.
// adjust may change a value; it may be nil.
func (p *prometheus) scrapeAll(adjust func(name string, value float64) float64) {
	p.t.Helper()
	app := p.storage.Appender(p.t.Context())
	for _, target := range p.targets {
		samples, err := target.scrape(p.t)
		up := 1.0
		if err != nil {
			up = 0
		}
		samples = append(samples, sample{labels.FromStrings("__name__", "up"), up})
		for _, s := range samples {
			value := s.value
			if adjust != nil {
				value = adjust(s.labels.Get("__name__"), value)
			}
			if _, err := app.Append(0, asScraped(s.labels, target), p.now.UnixMilli(), value); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		p.t.Fatal(err)
	}
	p.at(p.t, p.now)
	p.now = p.now.Add(step)
}

// asScraped adds the labels of a target of a PodMonitor. A label of the metric with such a name is renamed.
func asScraped(l labels.Labels, p *target) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	targetLabels := map[string]string{"job": "signpost/signpost", "instance": p.Admin, "namespace": "signpost", "pod": p.name, "container": "signpost", "endpoint": "admin"}
	l.Range(func(l labels.Label) {
		if _, taken := targetLabels[l.Name]; taken {
			l.Name = "exported_" + l.Name
		}
		b.Set(l.Name, l.Value)
	})
	for name, value := range targetLabels {
		b.Set(name, value)
	}
	return b.Labels()
}

// wantFiring scrapes for a time of its own, and fails the test unless all of these alerts have fired then.
func (p *prometheus) wantFiring(within time.Duration, alerts ...string) {
	p.t.Helper()
	for end := p.now.Add(within); p.now.Before(end); {
		p.scrapeAll(nil)
	}
	for _, a := range alerts {
		if p.fired[a] == "" {
			p.t.Errorf("%s doesn't fire; these do: %v", a, p.fired)
		} else {
			p.t.Logf("%s fires: %s", a, p.fired[a])
		}
	}
}

// mapped keeps the times that metrics have as far from a scrape as they are, when the clock of
// Prometheus goes speed times as fast as that of the process. The durations in lasting are
// multiplied.
func (p *prometheus) mapped(speed float64, lasting ...string) func(string, float64) float64 {
	origin := float64(p.begun.UnixNano()) / 1e9
	return func(name string, value float64) float64 {
		if strings.HasSuffix(name, "_timestamp_seconds") && value > 0 {
			return origin + (value-origin)*speed
		}
		if slices.Contains(lasting, name) {
			return value * speed
		}
		return value
	}
}

// scrapeOften scrapes as often as a Prometheus would whose clock goes speed times as fast. It ends when all
// alerts have fired, if any are given. The durations in lasting are multiplied by speed.
func (p *prometheus) scrapeOften(speed float64, times int, lasting []string, alerts ...string) {
	p.t.Helper()
	tick := time.NewTicker(time.Duration(float64(step) / speed))
	defer tick.Stop()
	for range times {
		<-tick.C
		p.scrapeAll(p.mapped(speed, lasting...))
		if len(alerts) > 0 && p.haveFired(alerts) {
			return
		}
	}
}

func (p *prometheus) haveFired(alerts []string) bool {
	return !slices.ContainsFunc(alerts, func(name string) bool { return p.fired[name] == "" })
}

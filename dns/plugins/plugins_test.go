package plugins_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// pluginName is what the names of sources and providers look like.
var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func TestSources(t *testing.T) {
	var names []string
	for _, p := range plugins.Sources() {
		checkPlugin(t, &names, p.Summary, p.Name)
		if p.Category == "" {
			t.Errorf("source %s has no category", p.Name)
		}
		for _, namespaces := range strings.Split(p.Namespaces, ",") {
			if len(p.Resources) > 0 && !slices.Contains([]string{"all", "single", "multiple"}, namespaces) {
				t.Errorf("source %s says %q of namespaces", p.Name, p.Namespaces)
			}
		}
		for _, filter := range p.Filters {
			if filter != "annotation" && filter != "label" {
				t.Errorf("source %s says that it knows the filter %q", p.Name, filter)
			}
		}
	}
	flags := pflag.NewFlagSet("sources", pflag.ContinueOnError)
	source.NewOptions().Flags(flags)
	for _, p := range plugins.Sources() {
		p.New().Flags(flags) // A flag that is there already panics.
	}
}

func TestProviders(t *testing.T) {
	var names []string
	flags := pflag.NewFlagSet("providers", pflag.ContinueOnError)
	for _, p := range plugins.Providers() {
		checkPlugin(t, &names, p.Summary, p.Names...)
		p.New().Flags(flags)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s has no description", f.Name)
		}
	})
}

// checkPlugin checks the names of a plugin, which are added to those of the others, and its
// summary.
func checkPlugin(t *testing.T, names *[]string, summary string, own ...string) {
	t.Helper()
	if len(own) == 0 || summary == "" || strings.HasSuffix(summary, ".") {
		t.Errorf("plugin %v has the summary %q; it needs a name, and one sentence without a full stop", own, summary)
	}
	for _, name := range own {
		if !pluginName.MatchString(name) || slices.Contains(*names, name) {
			t.Errorf("plugin %q: the name is taken or has characters that don't belong there", name)
		}
		*names = append(*names, name)
	}
}

// All sources can be used together, and share the watches of the kinds that several read.
func TestSourcesShareWatches(t *testing.T) {
	settings, err := source.NewOptions().Settings()
	if err != nil {
		t.Fatal(err)
	}
	var tables []kube.AnyTable
	for _, p := range plugins.Sources() {
		s, err := p.New().Open(source.Input{Settings: settings, Changed: func(source.Key) {}})
		if err != nil {
			t.Errorf("source %s with the defaults: %v", p.Name, err)
			continue
		}
		if (s.Poll == nil) == (s.Evaluate == nil) || (s.Evaluate == nil) != (len(s.Tables) == 0) {
			t.Errorf("source %s has %d tables, Evaluate %v and Poll %v; want either tables and Evaluate, or Poll",
				p.Name, len(s.Tables), s.Evaluate != nil, s.Poll != nil)
		}
		tables = append(tables, s.Tables...)
	}
	cluster, err := kube.New(kube.Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, tables...)
	if err != nil {
		t.Fatal(err)
	}
	if watches := len(cluster.Status()); watches >= len(tables) {
		t.Errorf("%d tables have %d watches; several sources read Services", len(tables), watches)
	}
}

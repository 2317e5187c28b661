package plugins_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sharedflags"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/sourcetest"
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
			if (p.Reads != "" || len(p.New().Resources()) > 0) && !slices.Contains([]string{"all", "single", "multiple"}, namespaces) {
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
	shared := &sharedflags.Set{}
	for _, p := range plugins.Sources() {
		config := p.New()
		shared.Give(config)
		config.Flags(flags) // A flag that is there already panics.
	}
	shared.Flags(flags)
}

func TestProviders(t *testing.T) {
	var names []string
	flags, shared := pflag.NewFlagSet("providers", pflag.ContinueOnError), &sharedflags.Set{}
	for _, p := range plugins.Providers() {
		checkPlugin(t, &names, p.Summary, p.Names...)
		config := p.New()
		shared.Give(config)
		config.Flags(flags)
	}
	shared.Flags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s has no description", f.Name)
		}
	})
}

// localProviders have no server that a dry run could change.
var localProviders = []string{"inmemory", "log"}

// Each provider has a test that its transport refuses what changes something in a dry run, beside
// what testkit/providertest checks of Apply (docs/faults.md, row 21). A provider that is added
// without one fails here.
func TestProvidersHaveTestsOfDryRuns(t *testing.T) {
	source, err := os.ReadFile("plugins.go")
	if err != nil {
		t.Fatal(err)
	}
	imports := regexp.MustCompile(`"github.com/signpostd/signpost/dns/provider/([a-z0-9]+)"`).FindAllSubmatch(source, -1)
	found := 0
	for _, m := range imports {
		name := string(m[1])
		if name == "properties" || slices.Contains(localProviders, name) {
			continue
		}
		files, err := filepath.Glob("../provider/" + name + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && regexp.MustCompile(`(?m)^func Test\w*DryRun\w*\(t \*testing\.T\)|\bprovidertest\.Run\(`).Match(text)
		}) {
			found++
		} else {
			t.Errorf("provider %s has neither the conformance kit (providertest.Run), which tries a dry run, nor a test TestDryRun…: show that its transport sends nothing that changes something", name)
		}
	}
	if found < 10 {
		t.Errorf("%d providers are found to have such a test: has the way changed in which plugins.go imports them?", found)
	}
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

// needed are the flags without which a source has nothing to read. They name kinds that others
// read, too.
var needed = map[string][]string{
	"unstructured": {"--unstructured-resource=services.v1", "--unstructured-resource=httpproxies.v1.projectcontour.io", "--unstructured-resource=widgets.v1.example.com"},
}

// All sources can be used together, and share the watches of the kinds that several read.
func TestSourcesShareWatches(t *testing.T) {
	settings, err := source.NewOptions().Settings()
	if err != nil {
		t.Fatal(err)
	}
	var tables []kube.AnyTable
	for _, p := range plugins.Sources() {
		config, flags := p.New(), pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
		config.Flags(flags)
		if err := flags.Parse(needed[p.Name]); err != nil {
			t.Fatal(err)
		}
		s, err := p.Open(config, source.Input{Settings: settings, Changed: func(source.Key) {}})
		if err != nil {
			t.Errorf("source %s with the defaults: %v", p.Name, err)
			continue
		}
		if (s.Poll == nil) == (s.Evaluate == nil) || (s.Evaluate == nil) != (len(s.Tables) == 0) {
			t.Errorf("source %s has %d tables, Evaluate %v and Poll %v; want either tables and Evaluate, or Poll",
				p.Name, len(s.Tables), s.Evaluate != nil, s.Poll != nil)
		}
		if err := sourcetest.Undeclared(s, config.Resources()); err != nil {
			t.Errorf("source %s: %v", p.Name, err)
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

// Each provider declares its own properties, and all annotations of ExternalDNS are declared,
// also those of providers that the binary doesn't have.
func TestDeclarations(t *testing.T) {
	all := plugins.Declarations()
	prefixes := map[string]bool{}
	for _, d := range all {
		if !strings.HasSuffix(d.Prefix, "/") || prefixes[d.Prefix] {
			t.Errorf("the prefix %q is taken, or doesn't end with a slash", d.Prefix)
		}
		prefixes[d.Prefix] = true
		for _, a := range d.Annotations {
			if !strings.HasPrefix(a.Property, d.Prefix) || strings.HasSuffix(a.Name, "*") != strings.HasSuffix(a.Property, "*") {
				t.Errorf("the annotation %q becomes %q, which isn't a property of %q", a.Name, a.Property, d.Prefix)
			}
		}
	}
	for _, known := range properties.Known() {
		if !prefixes[known.Prefix] {
			t.Errorf("nobody declares %q", known.Prefix)
		}
	}
	for annotation, want := range map[string]string{"coredns-group": "coredns/group", "aws-weight": "aws/weight", "cloudflare-proxied": "cloudflare/proxied"} {
		if got, ok := all.Property(annotation); !ok || got != want {
			t.Errorf("the annotation %s becomes %q, want %q", annotation, got, want)
		}
	}
}

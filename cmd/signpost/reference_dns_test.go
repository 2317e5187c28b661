package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/service"
	"github.com/signpostd/signpost/internal/golden"
	"github.com/signpostd/signpost/internal/sharedflags"
)

//go:generate go test . -run ^Test(Reference|Rights)OfDNS$ -update

// TestReferenceOfDNS compares the pages of docs/dns with the program; -update rewrites them. Package process
// has the page of metrics.
func TestReferenceOfDNS(t *testing.T) {
	for _, page := range []struct {
		name, title string
		body        func() (string, error)
	}{
		{"sources", "Supported Sources", func() (string, error) { return describeSources(plugins.Sources()) }},
		{"providers", "Supported Providers", func() (string, error) { return describeProviders(plugins.Providers()) }},
		{"flags", "Flags of signpost dns", func() (string, error) { return describeFlags(), nil }},
	} {
		t.Run(page.name, func(t *testing.T) {
			body, err := page.body()
			if err != nil {
				t.Fatal(err)
			}
			golden.Page{Name: page.name, Title: page.title, Body: body}.Check(t)
		})
	}
}

// TestDescribeSources shows that an incomplete plugin is an error for the generator of the page of sources,
// and that the order of the plugins makes no difference (case 217).
func TestDescribeSources(t *testing.T) {
	want, err := describeSources(plugins.Sources())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		all := plugins.Sources()
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got, err := describeSources(all); err != nil || got != want {
			t.Errorf("another order of plugins (error %v) gives another page:\n%s", err, cmp.Diff(want, got))
		}
	}
	for missing, remove := range map[string]func(*source.Plugin){
		"name":       func(p *source.Plugin) { p.Name = "" },
		"summary":    func(p *source.Plugin) { p.Summary = "" },
		"category":   func(p *source.Plugin) { p.Category = "" },
		"resources":  func(p *source.Plugin) { p.New = func() source.Config { return undeclared{service.NewConfig()} } },
		"namespaces": func(p *source.Plugin) { p.Namespaces = "" },
	} {
		all := plugins.Sources()
		remove(&all[0])
		if _, err := describeSources(all); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("a source without %s: error %v, want one that says so", missing, err)
		}
	}
	if _, err := describeSources(append(plugins.Sources(), plugins.Sources()[0])); err == nil {
		t.Error("no error about two sources of one name")
	}
}

func describeSources(all []source.Plugin) (string, error) {
	all = slices.SortedFunc(slices.Values(all), func(a, b source.Plugin) int { return strings.Compare(a.Name, b.Name) })
	rows := [][]string{{"Source Name", "Filters", "Namespace", "FQDN Template", "Events", "Provider Specific", "Category", "Resources"}}
	categories := map[string][]string{}
	for i, p := range all {
		if err := checkSource(p); err != nil {
			return "", err
		}
		if i > 0 && all[i-1].Name == p.Name {
			return "", fmt.Errorf("two sources have the name %s", p.Name)
		}
		category := strings.ToLower(p.Category)
		categories[category] = append(categories[category], fmt.Sprintf("- **%s**: %s.\n", p.Name, p.Summary))
		rows = append(rows, []string{
			"**" + p.Name + "**", strings.Join(p.Filters, ","), p.Namespaces, strconv.FormatBool(p.Templates),
			// Only sources with objects have Events.
			strconv.FormatBool(len(kindsOf(p)) > 0), strconv.FormatBool(p.Properties), category, strings.Join(kindsOf(p), "<br/>"),
		})
	}
	var b strings.Builder
	b.WriteString("A source makes records of the objects of one kind. `Filters` are `--annotation-filter` and `--label-filter`, where the source knows\n" +
		"them. `Namespace` is what it uses: `all` namespaces, or with `--namespace` a `single` one, or `multiple`. `Provider Specific` is whether it reads the\n" +
		"annotations for providers and the set identifier. `Events` is whether Events about its objects say what became of their records.\n\n")
	b.WriteString(golden.Table(rows))
	b.WriteString("\n## Usage\n\n```\nsignpost dns --source=service --source=ingress …\n```\n\n## Categories\n")
	for _, category := range slices.Sorted(maps.Keys(categories)) {
		fmt.Fprintf(&b, "\n### %s\n\n%s", upperFirst(category), strings.Join(categories[category], ""))
	}
	return b.String(), nil
}

// kindsOf returns the kinds of objects that a source reads by default.
func kindsOf(p source.Plugin) []string {
	if p.Reads != "" {
		return []string{p.Reads}
	}
	var kinds []string
	for _, r := range p.New().Resources() {
		kinds = append(kinds, r.Kind.GroupKind().String())
	}
	return kinds
}

// undeclared is a source without declared resources.
type undeclared struct{ source.Config }

func (undeclared) Resources() []source.Resource { return nil }

// checkSource returns an error if a plugin lacks a field.
func checkSource(p source.Plugin) error {
	for _, field := range []struct{ name, value string }{{"name", p.Name}, {"summary", p.Summary}, {"category", p.Category}} {
		if field.value == "" {
			return fmt.Errorf("source %q has no %s", p.Name, field.name)
		}
	}
	settings, err := source.NewOptions().Settings()
	if err != nil {
		return err
	}
	config := p.New()
	opened, err := p.Open(config, source.Input{Settings: settings, Changed: func(source.Key) {}})
	switch reads := len(opened.Tables) > 0; {
	case p.Reads != "":
		if err == nil {
			return fmt.Errorf("source %s reads what its flags say, and opens without any", p.Name)
		}
		return nil
	case err != nil:
		return fmt.Errorf("open source %s: %w", p.Name, err)
	case reads != (len(config.Resources()) > 0):
		return fmt.Errorf("source %s has %d resources, and reads %d kinds", p.Name, len(config.Resources()), len(opened.Tables))
	case reads && p.Namespaces == "":
		return fmt.Errorf("source %s says nothing of namespaces", p.Name)
	}
	return nil
}

func describeProviders(all []provider.Plugin) (string, error) {
	all = slices.SortedFunc(slices.Values(all), func(a, b provider.Plugin) int { return strings.Compare(a.Names[0], b.Names[0]) })
	rows := [][]string{{"Provider Name", "Other Names", "Summary"}}
	var sections strings.Builder
	for _, p := range all {
		if p.Summary == "" {
			return "", fmt.Errorf("provider %s has no summary", p.Names[0])
		}
		rows = append(rows, []string{"**" + p.Names[0] + "**", strings.Join(p.Names[1:], ","), upperFirst(p.Summary)})
		flags := pflag.NewFlagSet(p.Names[0], pflag.ContinueOnError)
		config, shared := p.New(), &sharedflags.Set{}
		shared.Give(config)
		config.Flags(flags)
		shared.Flags(flags)
		fmt.Fprintf(&sections, "\n## %s\n\n", p.Names[0])
		if table := flagRows(flags, nil); len(table) > 1 {
			sections.WriteString(golden.Table(table))
		} else {
			sections.WriteString("It has no flags of its own.\n")
		}
	}
	sections.WriteString("\n## Annotations\n\nThese annotations of objects become properties of their record sets, for the provider whose properties begin so. " +
		"A name that ends with `*` stands for all that begin so.\n\n" +
		golden.Table(annotationRows()))
	return "All providers share the [flags](flags.md) of the publisher. [signpost dns](../dns.md) lists the page of each of them.\n\n" +
		golden.Table(rows) + sections.String(), nil
}

func annotationRows() [][]string {
	rows := [][]string{{"Annotation", "Property", "Providers"}}
	for _, declared := range plugins.Declarations() {
		var names []string
		for _, p := range plugins.Providers() {
			if p.Properties.Prefix == declared.Prefix {
				names = append(names, p.Names...)
			}
		}
		readers := "not in this program"
		if len(names) > 0 {
			readers = strings.Join(names, ", ")
		}
		for _, a := range declared.Annotations {
			rows = append(rows, []string{"`" + a.Name + "`", "`" + a.Property + "`", readers})
		}
	}
	return rows
}

// describeFlags describes the flags of the command. Flags that are also fields of publishers in a config file
// have a table of their own.
func describeFlags() string {
	all := newDNSCommand(streams{}).Flags()
	publisher := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	configure.New().Flags(publisher)
	perPublisher := func(f *pflag.Flag) bool {
		return publisher.Lookup(f.Name) != nil && !slices.Contains(settings.PerProcess, f.Name)
	}
	var b strings.Builder
	b.WriteString("A flag overrides its environment variable. If a flag may be repeated, its variable has a value on each line.\n" +
		"The log shows stars in place of secrets.\n\n## Of a publisher\n\n" +
		"In a config file, these are fields of a publisher, without the dashes. If a flag may be repeated, the field may be a list.\n\n")
	b.WriteString(golden.Table(flagRows(all, perPublisher)))
	b.WriteString("\n## Of the process\n\n")
	b.WriteString(golden.Table(flagRows(all, func(f *pflag.Flag) bool { return !perPublisher(f) })))
	b.WriteString("\n## Fields of a config file\n\n")
	b.WriteString(golden.Table(fieldRows()))
	b.WriteString("\n## Providers that are not built in\n\nThese flags belong to providers of ExternalDNS that Signpost doesn't have. On the command line and as variables they are accepted without effect, " +
		"so that one list of flags can serve several clusters; in a config file they are an error. `--provider` with such a name is an error: run a [webhook](webhook.md) program for that provider.\n\n")
	b.WriteString(golden.Table(missingRows(all)))
	return b.String()
}

// flagRows describes the flags for which admits is true; all if it is nil.
func flagRows(flags *pflag.FlagSet, admits func(*pflag.Flag) bool) [][]string {
	rows := [][]string{{"Flag", "Variable", "Default", "Repeatable", "Secret", "Meaning"}}
	flags.VisitAll(func(f *pflag.Flag) {
		if !configure.Supported(f) || (admits != nil && !admits(f)) {
			return
		}
		_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: f.Usage, Value: f.Value})
		if f.Deprecated != "" {
			usage += "; deprecated: " + f.Deprecated
		}
		preset, repeatable, secret := f.DefValue, "", ""
		if _, list := f.Value.(pflag.SliceValue); list {
			preset, repeatable = strings.Trim(preset, "[]"), "yes"
		}
		if preset != "" {
			preset = "`" + preset + "`"
		}
		if provider.IsSecret(f) {
			secret = "secret"
		}
		rows = append(rows, []string{"`--" + f.Name + "`", "`" + variable(f.Name) + "`", preset, repeatable, secret, upperFirst(usage)})
	})
	return rows
}

func variable(flag string) string {
	return "EXTERNAL_DNS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// TestVariableOfFlag shows that the program reads the variables on the page.
func TestVariableOfFlag(t *testing.T) {
	c := settings.NewDNSFlags()
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	c.AddFlags(flags)
	if _, err := configure.FromEnvironment(flags, func(name string) (string, bool) { return "x.example", name == variable("txt-owner-id") }); err != nil {
		t.Fatal(err)
	}
	if c.Publisher.Registry.OwnerID != "x.example" {
		t.Errorf("%s has no effect", variable("txt-owner-id"))
	}
}

// fieldRows describes the fields of a config file for the process and for the role.
func fieldRows() [][]string {
	rows := [][]string{{"Field", "Default", "Meaning"}}
	c := settings.Default()
	c.RunsDNS = true
	for _, s := range c.Settings() {
		preset := ""
		// Publishers have no default.
		if text := s.Value.String(); text != "" && s.Value.Type() != "publishers" {
			preset = "`" + text + "`"
		}
		_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: s.Usage, Value: s.Value})
		rows = append(rows, []string{"`" + s.Path + "`", preset, upperFirst(usage)})
	}
	return rows
}

func missingRows(flags *pflag.FlagSet) [][]string {
	names := map[string][]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		if what, ok := configure.MissingProvider(f); ok {
			names[what] = append(names[what], "`--"+f.Name+"`")
		}
	})
	rows := [][]string{{"Provider", "Flags"}}
	for _, what := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, []string{what, strings.Join(names[what], "<br/>")})
	}
	return rows
}

func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// guideFlag matches a flag in a text, and guideConfig the first config file.
var (
	guideFlag   = regexp.MustCompile("(?:^|[\\s`(|])--([a-z][a-z0-9-]*[a-z0-9])")
	guideConfig = regexp.MustCompile("(?s)```yaml\n(apiVersion: .*?)```")
)

// guidePages are the handwritten pages about the dns role.
var guidePages = []string{
	"dns.md", "dns/aws.md", "dns/aws-sd.md", "dns/cloudflare.md", "dns/coredns.md", "dns/deletions.md", "dns/differences.md", "dns/google.md", "dns/ownership.md",
	"dns/pdns.md", "dns/rfc2136.md", "dns/rights.md", "dns/troubleshooting.md", "dns/webhook.md", "dns/zones.md",
}

// TestGuideToDNS shows that all flags and metrics on the pages about the dns role exist.
func TestGuideToDNS(t *testing.T) {
	metrics, err := os.ReadFile("../../docs/dns/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range guidePages {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range guideFlag.FindAllSubmatch(text, -1) {
			// --for is a flag of kubectl, and --no- starts a negated boolean flag.
			if name := string(match[1]); name != "for" && name != "no" && newDNSCommand(streams{}).Flags().Lookup(name) == nil && newPlanCommand(streams{}).Flags().Lookup(name) == nil &&
				newRunCommand(streams{}).Flags().Lookup(name) == nil && newRBACCommand(streams{}).Flags().Lookup(name) == nil &&
				newApproveCommand(streams{}).Flags().Lookup(name) == nil {
				t.Errorf("docs/%s names --%s, which is no flag", page, name)
			}
		}
		guide, _, _ := strings.Cut(string(text), "\n## Limitations\n")
		for _, name := range regexp.MustCompile(`\b(?:signpost_dns|external_dns|leader_election)_[a-z_]+`).FindAllString(guide, -1) {
			if !strings.Contains(string(metrics), "`"+name+"`") {
				t.Errorf("docs/%s names %s, which is no metric", page, name)
			}
		}
	}
}

// TestGuideConfig shows that the fields of the config file in docs/dns.md exist.
func TestGuideConfig(t *testing.T) {
	text, err := os.ReadFile("../../docs/dns.md")
	if err != nil {
		t.Fatal(err)
	}
	config := guideConfig.FindSubmatch(text)
	if config == nil {
		t.Fatal("docs/dns.md has no config file")
	}
	t.Setenv("TSIG_SECRET", "c2VjcmV0")
	if c, err := settings.Decode("docs/dns.md", config[1], settings.References{}); err != nil || len(c.DNS.Publishers) < 2 {
		t.Errorf("the config file has %d publishers, error %v; want several", len(c.DNS.Publishers), err)
	}
}

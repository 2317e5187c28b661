package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/golden"
)

// TestReferenceOfAnnotations compares the generated parts of docs/dns/annotations.md and of the pages with
// examples with the table of annotations, with the annotations of the plugins, and with the examples that the
// sources' tests run.
func TestReferenceOfAnnotations(t *testing.T) {
	const page = "../../docs/dns/annotations.md"
	golden.Part(t, page, "annotations of names and targets", annotationTable(func(name string) []string { return readersOf(name, false) }))
	golden.Part(t, page, "annotations for providers", annotationTable(func(name string) []string { return readersOf(name, true) }))
	for file, sources := range examplePages() {
		examples, err := describeExamples(sources)
		if err != nil {
			t.Fatal(err)
		}
		golden.Part(t, "../../docs/dns/"+file, "examples", examples)
	}
}

// ofKubernetes are the sources whose objects need no other program than Kubernetes.
var ofKubernetes = []string{"externalworkload", "ingress", "node", "pod", "service", "unstructured"}

// examplePages returns the sources by the pages that have their examples.
func examplePages() map[string][]source.Plugin {
	pages := map[string][]source.Plugin{}
	for _, p := range plugins.Sources() {
		page := "examples-controllers.md"
		switch {
		case slices.Contains(ofKubernetes, p.Name):
			page = "examples.md"
		case strings.HasPrefix(p.Name, "gateway-"), strings.HasPrefix(p.Name, "istio-"):
			page = "examples-gateway.md"
		}
		pages[page] = append(pages[page], p)
	}
	return pages
}

// readersOf returns the sources that read an annotation, either as one for providers or by its name.
func readersOf(name string, forProviders bool) []string {
	var names []string
	for _, p := range plugins.Sources() {
		own := slices.Contains(p.Annotations, name)
		if (own || forProviders) && own != forProviders && slices.Contains(p.AnnotationNames(), name) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// annotationTable describes the annotations that any source reads.
func annotationTable(readers func(name string) []string) string {
	rows := [][]string{{"Annotation", "What for", "Value", "Example", "Read by the sources"}}
	for _, kind := range source.AnnotationKinds {
		if names := readers(kind.Name); len(names) > 0 {
			rows = append(rows, []string{"`" + kind.Name + "`", kind.Purpose, kind.Values, "`" + kind.Example + "`", strings.Join(names, ", ")})
		}
	}
	return golden.Table(rows)
}

// TestAnnotationsAreRead shows that a source reads each annotation of the table, and that the table has each
// annotation of a plugin.
func TestAnnotationsAreRead(t *testing.T) {
	known := map[string]bool{}
	for _, kind := range source.AnnotationKinds {
		known[kind.Name] = true
		if len(readersOf(kind.Name, false))+len(readersOf(kind.Name, true)) == 0 {
			t.Errorf("no source reads the annotation %s: name it in the Annotations of a plugin", kind.Name)
		}
	}
	for _, p := range plugins.Sources() {
		for _, name := range p.Annotations {
			if !known[name] {
				t.Errorf("source %s reads the annotation %q, which isn't in the table: add it to source.AnnotationKinds", p.Name, name)
			}
		}
	}
}

// describeExamples returns an example of each source that reads annotations: the scenario example.txtar,
// which the source's own test runs.
func describeExamples(all []source.Plugin) (string, error) {
	var b strings.Builder
	all = slices.SortedFunc(slices.Values(all), func(a, b source.Plugin) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range all {
		if len(p.Annotations) == 0 {
			continue
		}
		archive, err := exampleOf(p.Name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n", p.Name, archive.Comment)
		for _, f := range archive.Files {
			switch f.Name {
			case "flags":
				fmt.Fprintf(&b, "```sh\n%s```\n\n", f.Data)
			case "apply":
				fmt.Fprintf(&b, "```yaml\n%s```\n\n", f.Data)
			case "records":
				fmt.Fprintf(&b, "```\n%s```\n\n", f.Data)
			default:
				return "", fmt.Errorf("the example of source %s has the section %s: use flags, apply and records", p.Name, f.Name)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// exampleOf reads the example of a source from its directory, or from that of its family.
func exampleOf(name string) (*txtar.Archive, error) {
	family, member, _ := strings.Cut(name, "-")
	for _, dir := range []string{filepath.Join(strings.ReplaceAll(name, "-", ""), "testdata"), filepath.Join(family, "testdata", member)} {
		file := filepath.Join("../../dns/source", dir, "example.txtar")
		if _, err := os.Stat(file); err == nil {
			return txtar.ParseFile(file)
		}
	}
	return nil, fmt.Errorf("source %s reads annotations and has no testdata/example.txtar: write one object of it there, and the records that it gives", name)
}

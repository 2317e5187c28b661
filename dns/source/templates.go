package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/text"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns"
)

// Templates are the templates for names and targets (spec/dns.md §6.12). A nil value has none. They
// may be used from any goroutine.
type Templates struct {
	names, targets, pairs *templateText
	combine               bool
	sources               []string
}

// TemplateOptions are the flags for templates. The texts of a list are joined with commas.
type TemplateOptions struct {
	// FQDN, Target and FQDNTarget are --fqdn-template, --target-template and
	// --fqdn-target-template.
	FQDN, Target, FQDNTarget []string
	// Combine is --combine-fqdn-annotation.
	Combine bool
	// Sources are the valid arguments of isSource.
	Sources []string
}

// Pair is a name and a target from --fqdn-target-template.
type Pair struct {
	Name, Target string
}

// ParseTemplates returns the templates, or nil if there are none. The error names the flag and the
// first invalid one of its values.
func ParseTemplates(o TemplateOptions) (*Templates, error) {
	t := &Templates{combine: o.Combine, sources: o.Sources}
	var names, targets, pairs error
	t.names, names = parseTemplate("fqdn-template", o.FQDN)
	t.targets, targets = parseTemplate("target-template", o.Target)
	t.pairs, pairs = parseTemplate("fqdn-target-template", o.FQDNTarget)
	if err := errors.Join(names, targets, pairs); err != nil {
		return nil, err
	}
	if t.names == nil && t.targets == nil && t.pairs == nil {
		return nil, nil
	}
	return t, nil
}

// For returns the templates that a source reads, whose name isSource compares with; nil if it reads none.
func (t *Templates) For(p Plugin) *Templates {
	if t == nil {
		return nil
	}
	known, read := functions(p.Name, t.sources), &Templates{combine: t.combine}
	if p.Templates {
		read.names = t.names.with(known)
	}
	if p.TargetTemplates {
		read.targets = t.targets.with(known)
	}
	if p.PairTemplates {
		read.pairs = t.pairs.with(known)
	}
	if !read.HasNames() && !read.HasTargets() && !read.HasPairs() {
		return nil
	}
	return read
}

// HasNames reports whether there is a --fqdn-template.
func (t *Templates) HasNames() bool { return t != nil && t.names != nil }

// HasTargets reports whether there is a --target-template.
func (t *Templates) HasTargets() bool { return t != nil && t.targets != nil }

// HasPairs reports whether there is a --fqdn-target-template.
func (t *Templates) HasPairs() bool { return t != nil && t.pairs != nil }

// Combines reports whether templates add to the names found without them.
func (t *Templates) Combines() bool { return t != nil && t.combine }

// Names returns the names that --fqdn-template writes for an object, sorted.
func (t *Templates) Names(obj runtime.Object) ([]string, error) {
	if !t.HasNames() {
		return nil, nil
	}
	return t.names.list(obj)
}

// Targets returns the targets that --target-template writes for an object, sorted.
func (t *Templates) Targets(obj runtime.Object) ([]string, error) {
	if !t.HasTargets() {
		return nil, nil
	}
	return t.targets.list(obj)
}

// Pairs returns the pairs that --fqdn-target-template writes for an object, sorted. The first colon
// separates name and target. A pair without one of them is dropped.
func (t *Templates) Pairs(obj runtime.Object) ([]Pair, error) {
	if !t.HasPairs() {
		return nil, nil
	}
	list, err := t.pairs.list(obj)
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	for _, text := range list {
		name, target, _ := strings.Cut(text, ":")
		name, target = strings.TrimSuffix(strings.TrimSpace(name), "."), strings.TrimSpace(target)
		if name != "" && target != "" {
			pairs = append(pairs, Pair{Name: name, Target: target})
		}
	}
	return pairs, nil
}

// Combine adds the result of a template to what was found for an object, if nothing was found or
// with --combine-fqdn-annotation. Otherwise it doesn't call made.
func (t *Templates) Combine(found []*dns.RecordSet, made func() ([]*dns.RecordSet, error)) ([]*dns.RecordSet, error) {
	if t == nil || len(found) > 0 && !t.combine {
		return found, nil
	}
	more, err := made()
	if err != nil {
		return nil, err
	}
	return slices.Concat(found, more), nil
}

// templateText is one template. First typed is executed on the Go value of the object, with the
// methods of [withMethods]. If that fails, another one is executed on the JSON form of the object,
// in which fields have both spellings: strict for an object with a Go type, loose for others. In
// strict every field must exist. In loose a missing field is empty in the condition of an if, with
// or range, because the possible fields are unknown.
type templateText struct {
	flag                 string
	typed, strict, loose *template.Template
}

// hasTemplate reports whether any value of a flag isn't empty.
func hasTemplate(texts []string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.TrimSpace(s) != "" })
}

// parseTemplate returns the template of a flag, or nil if its values are empty.
func parseTemplate(flag string, texts []string) (*templateText, error) {
	if !hasTemplate(texts) {
		return nil, nil
	}
	t := &templateText{flag: flag}
	for i := range texts {
		// A text may only be invalid together with those before it.
		text := strings.Join(texts[:i+1], ",")
		var err error
		if t.typed, err = template.New(flag).Funcs(functions("", nil)).Parse(text); err != nil {
			return nil, fmt.Errorf("--%s[%d] %q: %w", flag, i, texts[i], err)
		}
	}
	var err error
	if t.strict, err = spelled(t.typed, fieldFunction); err == nil {
		t.loose, err = spelled(t.typed, conditionFunction)
	}
	if err == nil {
		t.typed, err = withMethods(t.typed)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return t, nil
}

// with returns a copy of a template with these functions.
func (t *templateText) with(functions template.FuncMap) *templateText {
	if t == nil {
		return nil
	}
	bind := func(from *template.Template) *template.Template {
		// Clone only fails after an execution.
		return template.Must(from.Clone()).Funcs(functions)
	}
	return &templateText{flag: t.flag, typed: bind(t.typed), strict: bind(t.strict), loose: bind(t.loose)}
}

// list returns the elements that the template writes for an object, sorted and without
// duplicates.
func (t *templateText) list(obj runtime.Object) ([]string, error) {
	text, err := t.execute(obj)
	if err != nil {
		return nil, err
	}
	var list []string
	for element := range strings.SplitSeq(text, ",") {
		if element = strings.TrimSuffix(strings.TrimSpace(element), "."); element != "" {
			list = append(list, element)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Limits of one execution of a template. The names and targets of an object that count ([NameLimit],
// [AddressLimit]) fit.
const (
	// outputLimit limits the output in bytes.
	outputLimit = 1 << 20
	// stepLimit limits the steps, because a range over a number or a nested list may write nothing.
	stepLimit = 1 << 16
)

// limitError is the error of a template that exceeds a limit.
type limitError string

// Error implements error.
func (e limitError) Error() string { return string(e) }

const (
	errLongOutput limitError = "the template writes more than 1 MiB for it: correct the template, or the fields that it reads"
	errManySteps  limitError = "the template takes more than 65536 steps for it: correct the template, or the fields that it reads"
)

// output is the output of a template, up to the limits. A number or a long text in an object can make
// a template write gigabytes, or run for hours.
type output struct {
	text  strings.Builder
	steps int
}

// Write implements io.Writer. An empty text is a step: the [step] of a list of nodes, mostly.
func (o *output) Write(p []byte) (int, error) {
	if len(p) == 0 {
		o.steps++
	}
	if o.steps > stepLimit {
		return 0, errManySteps
	}
	if o.text.Len()+len(p) > outputLimit {
		return 0, errLongOutput
	}
	return o.text.Write(p)
}

func (t *templateText) execute(obj runtime.Object) (string, error) {
	var out output
	typedErr := t.typed.Execute(&out, obj)
	if typedErr == nil {
		return out.text.String(), nil
	}
	view, err := viewOf(obj)
	var limit limitError
	if err == nil && !errors.As(typedErr, &limit) {
		out = output{}
		written := t.strict
		if _, untyped := obj.(*unstructured.Unstructured); untyped {
			written = t.loose
		}
		if err = written.Execute(&out, view); err == nil {
			return out.text.String(), nil
		}
	}
	kind, name := obj.GetObjectKind().GroupVersionKind().Kind, ""
	if m, ok := obj.(metav1.Object); ok {
		name = Key{Namespace: m.GetNamespace(), Name: m.GetName()}.String()
	}
	if errors.As(errors.Join(typedErr, err), &limit) {
		return "", fmt.Errorf("execute --%s for %s %s: %w", t.flag, kind, name, limit)
	}
	return "", fmt.Errorf("execute --%s for %s %s: %w; as written: %w", t.flag, kind, name, typedErr, err)
}

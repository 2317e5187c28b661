package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/dns"
)

// DefaultPrefixes are the prefixes of annotations, newest first (spec/dns.md §6.1). If an
// annotation exists with several prefixes, the first one counts.
var DefaultPrefixes = []string{"external-dns.kubernetes.io/", LegacyPrefix}

// LegacyPrefix is the prefix of annotations before ExternalDNS 0.22, which
// --enable-legacy-annotation-prefix adds.
const LegacyPrefix = "external-dns.alpha.kubernetes.io/"

// Values of --compatibility: programs whose annotations are read too.
const (
	Mate     = "mate"
	Molecule = "molecule"
	Kops     = "kops-dns-controller"
)

// Settings are the common settings of sources (spec/dns.md §12). [Options.Settings] creates them.
type Settings struct {
	// Namespaces are the namespaces whose objects are used; empty means all.
	Namespaces []string
	// Annotations and Labels select the objects; nil means all.
	Annotations, Labels labels.Selector
	// Prefixes are the prefixes of annotations in order of precedence.
	Prefixes []string
	// Declared are the properties of all providers.
	Declared dns.Declarations
	// Templates are those of --fqdn-template, --target-template and --fqdn-target-template; nil if
	// there are none.
	Templates *Templates
	// Compatibility is empty, [Mate], [Molecule] or [Kops].
	Compatibility string

	IgnoreHostnameAnnotation bool
	ExposeInternalIPv6       bool
	// ExcludeUnschedulable is true by default.
	ExcludeUnschedulable bool

	// reading is set by For.
	reader *annotationReader
}

// Selects reports whether an object of a source's own kind is selected by namespace, annotations
// and labels. The annotation controller can leave an object to another program.
func (s Settings) Selects(obj metav1.Object) bool { return s.excludes(obj) == nil }

// excludes says why an object is excluded; nil if it is selected.
func (s Settings) excludes(obj metav1.Object) *Skip {
	annotations := obj.GetAnnotations()
	switch {
	case !s.Includes(obj.GetNamespace()):
		return skipNamespace
	case s.Annotations != nil && !s.Annotations.Matches(labels.Set(annotations)):
		return skipByAnnotations
	case s.Labels != nil && !s.Labels.Matches(labels.Set(obj.GetLabels())):
		return skipByLabels
	}
	for _, prefix := range s.Prefixes {
		if controller, ok := annotations[prefix+"controller"]; ok {
			if controller != "dns-controller" {
				return otherControllerSkip(controller)
			}
			break
		}
	}
	return nil
}

// Includes reports whether objects of a namespace may be used. It is empty for cluster-scoped objects.
func (s Settings) Includes(namespace string) bool {
	return len(s.Namespaces) == 0 || namespace == "" || slices.Contains(s.Namespaces, namespace)
}

// Options are the common flags of sources, as the user wrote them. [NewOptions] creates them.
type Options struct {
	// Namespaces are lists of names, with commas or line breaks between them.
	Namespaces                    []string
	AnnotationFilter, LabelFilter string
	AnnotationPrefixes            []string
	// LegacyPrefix adds [LegacyPrefix] to the prefixes.
	LegacyPrefix  bool
	Compatibility string

	FQDNTemplates, TargetTemplates, FQDNTargetTemplates []string
	CombineFQDNAnnotation                               bool

	IgnoreHostnameAnnotation bool
	ExposeInternalIPv6       bool
	ExcludeUnschedulable     bool

	// Sources are the names of all kinds of source, for the template function isSource.
	Sources []string
	// Declared are the properties of all providers.
	Declared dns.Declarations
}

// NewOptions returns options with the defaults.
func NewOptions() *Options {
	return &Options{AnnotationPrefixes: slices.Clone(DefaultPrefixes), ExcludeUnschedulable: true}
}

// Flags adds the flags, with the names of ExternalDNS.
func (o *Options) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Namespaces, "namespace", o.Namespaces, "the only `namespaces` whose objects are used, with commas between them or repeated (default all)")
	flags.StringVar(&o.AnnotationFilter, "annotation-filter", o.AnnotationFilter, "use objects whose annotations match this label selector only")
	flags.StringVar(&o.LabelFilter, "label-filter", o.LabelFilter, "use objects whose labels match this label selector only")
	flags.StringArrayVar(&o.AnnotationPrefixes, "annotation-prefix", o.AnnotationPrefixes,
		"prefix of the annotations to read; where several prefixes have an annotation, the one named first counts")
	flags.BoolVar(&o.LegacyPrefix, "enable-legacy-annotation-prefix", o.LegacyPrefix,
		"also read annotations with the prefix "+LegacyPrefix+"; without --annotation-prefix they are read anyway")
	flags.StringVar(&o.Compatibility, "compatibility", o.Compatibility,
		"also read the annotations of another program: mate, molecule or kops-dns-controller")
	flags.StringArrayVar(&o.FQDNTemplates, "fqdn-template", nil, "template for the names of objects, separated by commas")
	flags.StringArrayVar(&o.TargetTemplates, "target-template", nil, "template for the targets of the names of --fqdn-template, separated by commas")
	flags.StringArrayVar(&o.FQDNTargetTemplates, "fqdn-target-template", nil, "template for pairs name:target, separated by commas")
	flags.BoolVar(&o.CombineFQDNAnnotation, "combine-fqdn-annotation", o.CombineFQDNAnnotation,
		"use templates also for objects that have names without")
	flags.BoolVar(&o.IgnoreHostnameAnnotation, "ignore-hostname-annotation", o.IgnoreHostnameAnnotation,
		"don't read names from annotations; needs --fqdn-template")
	flags.BoolVar(&o.ExposeInternalIPv6, "expose-internal-ipv6", o.ExposeInternalIPv6, "publish internal IPv6 addresses of nodes beside the external ones")
	flags.BoolVar(&o.ExcludeUnschedulable, "exclude-unschedulable", o.ExcludeUnschedulable, "leave out nodes that are unschedulable")
}

// Settings checks the options and returns the settings. The error lists all faults (spec/dns.md
// §5.4), each with its flag.
func (o *Options) Settings() (Settings, error) {
	s := Settings{
		Namespaces: o.OnlyNamespaces(), Prefixes: o.Prefixes(), Declared: o.Declared, Compatibility: o.Compatibility,
		IgnoreHostnameAnnotation: o.IgnoreHostnameAnnotation,
		ExposeInternalIPv6:       o.ExposeInternalIPv6,
		ExcludeUnschedulable:     o.ExcludeUnschedulable,
	}
	var annotations, labels, templates error
	s.Annotations, annotations = parseSelector("annotation-filter", o.AnnotationFilter)
	s.Labels, labels = parseSelector("label-filter", o.LabelFilter)
	s.Templates, templates = ParseTemplates(TemplateOptions{
		FQDN: o.FQDNTemplates, Target: o.TargetTemplates, FQDNTarget: o.FQDNTargetTemplates, Combine: o.CombineFQDNAnnotation, Sources: o.Sources,
	})
	err := errors.Join(annotations, labels, templates, o.check())
	if err != nil {
		return Settings{}, err
	}
	return s, nil
}

// Prefixes returns the prefixes of annotations in order of precedence.
func (o *Options) Prefixes() []string {
	if !o.LegacyPrefix || slices.Contains(o.AnnotationPrefixes, LegacyPrefix) {
		return o.AnnotationPrefixes
	}
	return append(slices.Clone(o.AnnotationPrefixes), LegacyPrefix)
}

func (o *Options) check() error {
	errs := []error{o.checkNamespaces()}
	if len(o.AnnotationPrefixes) == 0 {
		errs = append(errs, errors.New("--annotation-prefix: none; name one that ends with a slash"))
	}
	for _, prefix := range o.AnnotationPrefixes {
		if len(prefix) < 2 || !strings.HasSuffix(prefix, "/") {
			errs = append(errs, fmt.Errorf("--annotation-prefix %q: use one that ends with a slash, such as %s", prefix, DefaultPrefixes[0]))
		}
	}
	if !slices.Contains([]string{"", Mate, Molecule, Kops}, o.Compatibility) {
		errs = append(errs, fmt.Errorf("--compatibility %q: use %s, %s or %s", o.Compatibility, Mate, Molecule, Kops))
	}
	if o.IgnoreHostnameAnnotation && !hasTemplate(o.FQDNTemplates) && !hasTemplate(o.FQDNTargetTemplates) {
		errs = append(errs, errors.New("--ignore-hostname-annotation: no object would have a name; use --fqdn-template too"))
	}
	return errors.Join(errs...)
}

// parseSelector returns nil for an empty text.
func parseSelector(flag, text string) (labels.Selector, error) {
	if text == "" {
		return nil, nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--%s %q: %w; use a label selector, such as app=shop,tier in (a,b)", flag, text, err)
	}
	return selector, nil
}

package ingress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

const name = "ingress"

// classAnnotation is the class of an Ingress from before spec.ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// Values of the annotation ingress-hostname-source, in lower case.
const (
	definedHostsOnly = "defined-hosts-only"
	annotationOnly   = "annotation-only"
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Ingresses, at the addresses of their load balancers", Category: "kubernetes core",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple",
		Annotations: append([]string{source.AnnotationIngressHostnameSource}, source.CommonAnnotations...),
		Templates:   true, Properties: true,
		New: func() source.Config { return &Config{} },
	}
}

// Config is the settings of the source.
type Config struct {
	// Classes are the used Ingress classes; empty means all.
	Classes []string
	// IgnoreRules ignores the hosts of spec.rules, and IgnoreTLS those of spec.tls.
	IgnoreRules, IgnoreTLS bool
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.Classes, "ingress-class", c.Classes, "use Ingresses of this class only; may be repeated")
	flags.BoolVar(&c.IgnoreRules, "ignore-ingress-rules-spec", c.IgnoreRules, "don't use the hosts in spec.rules of Ingresses")
	flags.BoolVar(&c.IgnoreTLS, "ignore-ingress-tls-spec", c.IgnoreTLS, "don't use the hosts in spec.tls of Ingresses")
}

// Resources implements [source.Config].
func (*Config) Resources() []source.Resource {
	return []source.Resource{
		{Kind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Plural: "ingresses"},
	}
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	if err := c.check(in.Settings); err != nil {
		return source.Source{}, err
	}
	s := &ingresses{config: *c, reader: source.NewReader(in, source.Subject{
		Kind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Label: name,
		Names: []string{"spec.rules", "spec.tls"}, Targets: "status.loadBalancer",
	})}
	s.otherClass = &source.Skip{
		Reason: source.SkipFiltered, Subject: "spec.ingressClassName",
		Message: "--ingress-class has only " + strings.Join(c.Classes, ", ") + ": add the class of the Ingress there",
	}
	s.table = s.kind().Table(source.Notify[source.Named](in.Changed))
	return source.Of(s.reader, s.table, s.reader.PublishNamed), nil
}

// check returns an error if two settings select by class.
func (c *Config) check(settings source.Settings) error {
	if len(c.Classes) == 0 || settings.Annotations == nil {
		return nil
	}
	requirements, _ := settings.Annotations.Requirements()
	for _, r := range requirements {
		if r.Key() == classAnnotation {
			return fmt.Errorf("--ingress-class and --annotation-filter both select by the class of Ingresses (%s); use --ingress-class alone", r.String())
		}
	}
	return nil
}

type ingresses struct {
	config Config
	reader *source.Reader
	table  *kube.Table[source.Named]
	// otherClass is the reason of all Ingresses of other classes.
	otherClass *source.Skip
}

func (s *ingresses) kind() kube.Kind[source.Named] {
	return kube.Kind[source.Named]{
		Name: name, Resource: networkingv1.SchemeGroupVersion.WithResource("ingresses"),
		Form: kube.Protobuf(networkingv1.AddToScheme, func() runtime.Object { return &networkingv1.IngressList{} }),
		Trim: kube.TrimOf(s.trim),
	}
}

func (s *ingresses) trim(scope kube.Scope, obj *networkingv1.Ingress) (*source.Named, []kube.Problem) {
	kept := &source.Named{Object: s.reader.Read(scope, obj)}
	if kept.Selected && !s.ofClass(obj) {
		kept.Exclude(s.otherClass)
	}
	if !kept.Selected {
		for _, rule := range obj.Spec.Rules {
			kept.Want(rule.Host)
		}
		return kept, nil
	}
	s.findHosts(kept, &obj.Spec)
	source.AddBalancer(&kept.Found, obj.Status.LoadBalancer.Ingress, func(e networkingv1.IngressLoadBalancerIngress) (string, string) { return e.IP, e.Hostname })
	return kept, nil
}

// findHosts adds the names of an Ingress without templates.
func (s *ingresses) findHosts(kept *source.Named, spec *networkingv1.IngressSpec) {
	var rules, tls []string
	for _, rule := range spec.Rules {
		rules = append(rules, rule.Host)
	}
	for _, t := range spec.TLS {
		tls = append(tls, t.Hosts...)
	}
	empty := func(host string) bool { return host == "" }
	rules, tls = slices.DeleteFunc(rules, empty), slices.DeleteFunc(tls, empty)
	s.noteUnused(kept, len(rules) > 0, len(tls) > 0)

	from := kept.Annotations.HostnameSource
	defined := from == "" || from == definedHostsOnly
	if defined && !s.config.IgnoreRules {
		kept.Found.AddNames("spec.rules", rules)
	}
	if defined && !s.config.IgnoreTLS {
		kept.Found.AddNames("spec.tls", tls)
	}
	if from == "" || from == annotationOnly {
		kept.Found.AddNames("hostname", s.reader.Hosts(&kept.Object))
	}
}

// ofClass reports whether an Ingress has one of the classes. The annotation only counts if the
// field is empty.
func (s *ingresses) ofClass(obj *networkingv1.Ingress) bool {
	class := obj.Annotations[classAnnotation]
	if field := obj.Spec.IngressClassName; field != nil && *field != "" {
		class = *field
	}
	return len(s.config.Classes) == 0 || slices.Contains(s.config.Classes, class)
}

// noteUnused notes which names of an Ingress aren't used, and by which setting. rules and tls say
// which fields have hosts.
func (s *ingresses) noteUnused(kept *source.Named, rules, tls bool) {
	skip := func(subject, message string) { kept.Found.Skip(source.SkipNotPublished, subject, message) }
	from := kept.Annotations.HostnameSource
	known := from == "" || from == definedHostsOnly || from == annotationOnly
	switch {
	case !known:
		skip("metadata.annotations", "the annotation ingress-hostname-source is "+sanitize.Quote(from)+", for which no name is used: set it to defined-hosts-only or annotation-only")
	case from == annotationOnly && (rules || tls):
		skip("spec", "the annotation ingress-hostname-source is annotation-only, so the hosts of spec.rules and spec.tls are not used: remove it to have them, too")
	case from == definedHostsOnly && len(kept.Annotations.Hostnames) > 0:
		skip("metadata.annotations", "the annotation ingress-hostname-source is defined-hosts-only, so the annotation hostname is not used: remove one of them")
	}
	if from != annotationOnly && s.config.IgnoreRules && rules {
		skip("spec.rules", "--ignore-ingress-rules-spec leaves out these hosts: set the flag to false, or write them in the annotation hostname")
	}
	if from != annotationOnly && s.config.IgnoreTLS && tls {
		skip("spec.tls", "--ignore-ingress-tls-spec leaves out these hosts: set the flag to false, or write them in the annotation hostname")
	}
}

package configure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/kube"
)

// DefaultMaxNames is the default limit of names of a namespace in a zone.
const DefaultMaxNames = 10_000

// namePolicyFlag is the flag that has another default in config files.
const namePolicyFlag = "name-policy"

// NewForFile returns options with the defaults of a publisher in a config file. They are those of
// [New], except that a name belongs to a namespace, because a config file needn't be compatible
// with ExternalDNS.
func NewForFile() *Options {
	o := New()
	o.NamePolicy = string(tenancy.Namespaced)
	return o
}

// Settle completes the defaults of options of a config file, once all fields are set. Without
// ownership, the name policy has the default of the command line, because names can't belong to
// namespaces.
func (o *Options) Settle() {
	if f := o.publisherFlags.Lookup(namePolicyFlag); o.RegistryKind() == registryNone && !f.Changed {
		o.NamePolicy = string(tenancy.Shared)
	}
}

func (o *Options) checkTenancy() error {
	var errs []error
	if err := checkChoices(namePolicyFlag, o.NamePolicy); err != nil {
		errs = append(errs, err)
	} else if tenancy.Policy(o.NamePolicy) == tenancy.Namespaced && o.RegistryKind() == registryNone {
		errs = append(errs, errors.New("--name-policy=namespace: --registry=noop keeps no ownership records, which say who has a name: use another registry, or --name-policy=shared"))
	}
	if o.MaxNames < 0 {
		errs = append(errs, fmt.Errorf("--max-names-per-namespace=%d: must not be negative; 0 is no limit", o.MaxNames))
	}
	if o.ForceMinTTL && o.MinTTL == 0 {
		errs = append(errs, errors.New("--force-min-ttl: there is no --min-ttl: give one"))
	}
	return errors.Join(errs...)
}

// readsNamespaces reports whether the labels of namespaces are needed.
func (o *Options) readsNamespaces() bool { return tenancy.Selects(o.NamespaceDomains) }

// namespaceResource describes the watch of namespaces.
func namespaceResource() source.Resource {
	return source.Resource{Kind: corev1.SchemeGroupVersion.WithKind("Namespace"), Plural: "namespaces", Scope: source.InNone, Dependency: true}
}

// openNamespaces returns the labels of namespaces. If they are needed, it adds their table to those
// of all sources that read objects, so that these sources count as read only after the labels.
func (o *Options) openNamespaces(opened *Opened, sources []publisher.NamedSource) tenancy.Labels {
	if !o.readsNamespaces() {
		return nil
	}
	table := source.Namespaces().Table(kube.WithHandler(func(old, new *source.Namespace) {
		opened.Publisher.Reevaluate(cmp.Or(new, old).Name)
	}))
	opened.Tables = append(opened.Tables, table)
	for i := range sources {
		if sources[i].Poll == nil {
			sources[i].Tables = append(slices.Clip(sources[i].Tables), table)
		}
	}
	return func(name string) (labels.Set, bool) {
		if ns := table.Get("", name); ns != nil {
			return ns.Labels, true
		}
		return nil, false
	}
}

// ownershipNames returns a function that reports whether a name has the form of an ownership
// record; nil if the zones have none.
func ownershipNames(own owner.Owner) func(name string) bool {
	txt, ok := own.(*owner.TXT)
	if !ok {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(txt.Describes(name), func(described string) bool { return described != name })
	}
}

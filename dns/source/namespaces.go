package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/kube"
)

// namespaceNames returns the names in the values of --namespace, which are separated by commas or
// line breaks.
func (o *Options) namespaceNames() []string {
	var names []string
	for _, value := range o.Namespaces {
		for name := range strings.SplitSeq(strings.ReplaceAll(value, "\n", ","), ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// OnlyNamespaces returns the namespaces of --namespace without duplicates; nil means all.
func (o *Options) OnlyNamespaces() []string {
	var names []string
	for _, name := range o.namespaceNames() {
		// An empty name alone means all.
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (o *Options) checkNamespaces() error {
	names := o.OnlyNamespaces()
	var errs []error
	if len(names) > 0 && slices.Contains(o.namespaceNames(), "") {
		errs = append(errs, errors.New("--namespace: one of several names is empty, which alone is all namespaces; leave it out"))
	}
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, fmt.Errorf("--namespace %q: no namespace has such a name; use lower-case letters, digits and dashes between them, 63 at most", name))
		}
	}
	if len(names) > kube.MaxNamespaces {
		errs = append(errs, fmt.Errorf("--namespace: %d names; name at most %d, or none to read all namespaces", len(names), kube.MaxNamespaces))
	}
	return errors.Join(errs...)
}

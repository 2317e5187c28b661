package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/kube"
)

// namespacesValue is the value of --namespace: names separated by commas or line breaks. A repeated
// flag adds names.
type namespacesValue struct{ target *[]string }

// String implements pflag.Value.
func (v namespacesValue) String() string { return strings.Join(*v.target, ",") }

// Type implements pflag.Value.
func (v namespacesValue) Type() string { return "stringArray" }

// Set implements pflag.Value. Invalid names are reported by [Options.Settings].
func (v namespacesValue) Set(text string) error {
	for name := range strings.SplitSeq(strings.ReplaceAll(text, "\n", ","), ",") {
		*v.target = append(*v.target, strings.TrimSpace(name))
	}
	return nil
}

// Append implements pflag.SliceValue.
func (v namespacesValue) Append(text string) error { return v.Set(text) }

// Replace implements pflag.SliceValue.
func (v namespacesValue) Replace(names []string) error {
	*v.target = names
	return nil
}

// GetSlice implements pflag.SliceValue.
func (v namespacesValue) GetSlice() []string { return *v.target }

// OnlyNamespaces returns the namespaces of --namespace without duplicates; nil means all.
func (o *Options) OnlyNamespaces() []string {
	var names []string
	for _, name := range o.Namespaces {
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
	if len(names) > 0 && slices.Contains(o.Namespaces, "") {
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

package configure

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// variableReference matches a reference to an environment variable in the args of a container.
// Kubernetes replaces $(NAME) only if the variable is defined in the pod.
var variableReference = regexp.MustCompile(`\$\([A-Za-z_.-][A-Za-z0-9_.-]*\)`)

// checkExpanded refuses values with unexpanded variable references, because they match nothing, or
// give all clusters with the same mistake one owner. A secret is refused only if it is nothing but
// a reference, because a password may contain any text.
func (o *Options) checkExpanded() error {
	var errs []error
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || !Supported(f) {
			return
		}
		value := f.Value.String()
		reference := variableReference.FindString(value)
		if reference == "" || provider.IsSecret(f) && value != reference {
			return
		}
		errs = append(errs, fmt.Errorf("--%s: contains %s, a variable that was not expanded: in a pod, define the variable %s in its env; elsewhere, write its value",
			f.Name, reference, strings.TrimSuffix(strings.TrimPrefix(reference, "$("), ")")))
	})
	return errors.Join(errs...)
}

// affixTemplate is the only template in --txt-prefix and --txt-suffix (spec/dns.md §4.2.3).
const affixTemplate = "%{record_type}"

// checkAffixes refuses a prefix or suffix of ownership records that looks like another template,
// because it would become a part of all names, and changing it later loses ownership.
func (o *Options) checkAffixes() error {
	var errs []error
	for _, affix := range []struct{ flag, value string }{{"txt-prefix", o.Registry.Prefix}, {"txt-suffix", o.Registry.Suffix}} {
		rest := strings.ReplaceAll(affix.value, affixTemplate, "")
		if i := strings.IndexAny(rest, "%{}"); i >= 0 {
			errs = append(errs, fmt.Errorf("--%s=%s: the character %q is allowed only in the template %s", affix.flag, affix.value, rest[i], affixTemplate))
		}
	}
	return errors.Join(errs...)
}

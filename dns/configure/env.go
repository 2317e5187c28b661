package configure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/flagreason"
)

// envPrefix is the prefix of environment variables.
const envPrefix = "EXTERNAL_DNS_"

// FromEnvironment sets flags that were not given from environment variables: --some-flag from
// EXTERNAL_DNS_SOME_FLAG. The variable of a repeatable flag has one value per line (spec/dns.md
// §5.4). It returns the names of the flags that it has set. The error lists all faults.
func FromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) (set map[string]bool, err error) {
	var wrong []string
	set = map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := VariableOf(f.Name)
		value, ok := lookup(name)
		// ExternalDNS also ignores empty variables, because charts set them.
		if !ok || value == "" || f.Changed {
			return
		}
		set[f.Name] = true
		values := []string{value}
		if _, list := f.Value.(pflag.SliceValue); list {
			values = nil
			for line := range strings.Lines(value) {
				if line = strings.TrimRight(line, "\r\n"); line != "" {
					values = append(values, line)
				}
			}
		}
		for _, v := range values {
			if err := flags.Set(f.Name, v); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", name, withoutValue(f, err)))
			}
		}
	})
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return set, nil
}

// VariableOf returns the environment variable of a flag.
func VariableOf(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// withoutValue returns an error of a flag without the flag's name and value, because the value may
// be a secret.
func withoutValue(f *pflag.Flag, err error) error {
	if provider.IsSecret(f) {
		return errors.New("the value is not valid")
	}
	// The error of the library begins with the flag and its value.
	if invalid := new(pflag.InvalidValueError); errors.As(err, &invalid) {
		return flagreason.Of(invalid)
	}
	return err
}

// Negations replaces --no-flag by --flag=false in arguments, a form that ExternalDNS has for each
// boolean flag. An argument that is the value of the preceding flag stays.
func Negations(flags *pflag.FlagSet, args []string) []string {
	changed := slices.Clone(args)
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		if !ok {
			continue
		}
		if name == "" {
			return changed // only arguments follow
		}
		if f := flags.Lookup(name); f != nil {
			if f.NoOptDefVal == "" {
				i++
			}
			continue
		}
		name, ok = strings.CutPrefix(name, "no-")
		if f := flags.Lookup(name); ok && f != nil && f.NoOptDefVal == "true" {
			changed[i] = "--" + name + "=false"
		}
	}
	return changed
}

package configure

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// stars replace a secret.
const stars = "******"

// userInfo matches user and password in a URL.
var userInfo = regexp.MustCompile(`://[^/?#\s,"\]]*@`)

// Masked returns a value without user and password in a URL.
func Masked(value string) string { return userInfo.ReplaceAllString(value, "://"+stars+"@") }

// LogAttrs returns the flags that were given, with their values, as attributes of a log line.
// Secrets, and user and password in a URL, are replaced by stars.
func LogAttrs(flags *pflag.FlagSet) []any {
	var shown []any
	flags.Visit(func(f *pflag.Flag) {
		value := Masked(f.Value.String())
		if provider.IsSecret(f) {
			value = stars
		}
		shown = append(shown, f.Name, value)
	})
	return shown
}

// Field is a setting of a publisher, as in a config file.
type Field struct {
	*pflag.Flag
	// Values are its values, without secrets. List is true if there may be several.
	Values []string
	List   bool
}

// withoutEffect is a part of the usage of flags that only other programs need.
const withoutEffect = "without effect"

// Fields returns the settings of a publisher from a config file: those that were given, and
// effective defaults. Empty and false defaults are left out, as are flags of unused sources and
// providers.
func (o *Options) Fields() []Field {
	unused := o.unusedFlags()
	var fields []Field
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		if !Supported(f) || (!f.Changed && (unused[f.Name] || strings.Contains(f.Usage, withoutEffect) || slices.Contains([]string{"", "[]", "false", "0", "0s"}, value))) {
			return
		}
		field := Field{Flag: f, Values: []string{value}}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			field.Values, field.List = slices.Clone(list.GetSlice()), true
		}
		for i, v := range field.Values {
			if field.Values[i] = Masked(v); provider.IsSecret(f) && v != "" {
				field.Values[i] = stars
			}
		}
		fields = append(fields, field)
	})
	return fields
}

// unusedFlags returns the flags of unused sources and providers, plus the flags that several share.
// The value is false for a flag that a used one also declares.
func (o *Options) unusedFlags() map[string]bool {
	var shared sharedflags.Set
	unused, used := pflag.NewFlagSet("", pflag.ContinueOnError), map[string]bool{}
	add := func(config interface{ Flags(*pflag.FlagSet) }, uses bool) {
		shared.Give(config)
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		config.Flags(own)
		unused.AddFlagSet(own)
		if uses {
			own.VisitAll(func(f *pflag.Flag) { used[f.Name] = true })
		}
	}
	for _, p := range o.sourcePlugins {
		add(p.New(), slices.Contains(o.Sources, p.Name))
	}
	for _, p := range o.providerPlugins {
		add(p.New(), slices.ContainsFunc(p.Names, func(name string) bool { return slices.Contains(o.Providers, name) }))
	}
	shared.Flags(unused)
	names := map[string]bool{}
	unused.VisitAll(func(f *pflag.Flag) { names[f.Name] = !used[f.Name] })
	return names
}

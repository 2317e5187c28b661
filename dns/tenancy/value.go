package tenancy

import "strings"

// Value is the value of --namespace-domains: rules. A repeated flag adds rules. It implements
// [pflag.SliceValue].
//
// [pflag.SliceValue]: https://pkg.go.dev/github.com/spf13/pflag#SliceValue
type Value struct{ Target *[]Rule }

// String implements pflag.Value.
func (v Value) String() string { return strings.Join(v.GetSlice(), "\n") }

// Type implements pflag.Value.
func (v Value) Type() string { return "stringArray" }

// Set implements pflag.Value. A text of several lines, as an environment variable may have, is several rules.
func (v Value) Set(text string) error {
	for line := range strings.SplitSeq(text, "\n") {
		r, err := ParseRule(line)
		if err != nil {
			return err
		}
		*v.Target = append(*v.Target, r)
	}
	return nil
}

// Append implements pflag.SliceValue.
func (v Value) Append(text string) error { return v.Set(text) }

// Replace implements pflag.SliceValue.
func (v Value) Replace(texts []string) error {
	*v.Target = nil
	for _, text := range texts {
		if err := v.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice implements pflag.SliceValue.
func (v Value) GetSlice() []string {
	var texts []string
	for _, r := range *v.Target {
		texts = append(texts, r.String())
	}
	return texts
}

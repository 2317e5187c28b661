package flagreason

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"
)

// Types with words of their own don't show the errors of the library, which name its functions.
func TestOf(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Duration("wait", 0, "")
	flags.IPMask("mask", nil, "")
	for flag, want := range map[string]string{
		"wait": "must be a duration with its unit, such as 10s or 1m30s",
		"mask": `failed to parse IP mask: "x"`,
	} {
		var invalid *pflag.InvalidValueError
		if err := flags.Set(flag, "x"); !errors.As(err, &invalid) {
			t.Fatalf("%s: the error is %v", flag, err)
		}
		if got := Of(invalid).Error(); got != want {
			t.Errorf("%s: %s, want %s", flag, got, want)
		}
	}
}

package configure_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
)

// properNames may begin the usage of a flag.
var properNames = []string{"Kerberos", "Route", "Cloudflare", "Azure", "Google", "Hetzner", "Kubernetes"}

// The usages of all flags have the same form, whichever package declares them (B12).
func TestUsagesBeginAlike(t *testing.T) {
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	configure.New().Flags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		first, _, _ := strings.Cut(usage, " ")
		runes := []rune(first)
		if len(runes) == 1 && first != "A" || len(runes) > 1 && (!unicode.IsUpper(runes[0]) || unicode.IsUpper(runes[1])) {
			return
		}
		for _, name := range properNames {
			if strings.HasPrefix(first, name) {
				return
			}
		}
		t.Errorf("--%s: %.60q begins with a capital", f.Name, usage)
	})
}

package flaggroup_test

import (
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/flaggroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUsages(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Bool("plain", false, "a flag that is in no group, whose usage is longer than a line of sixty characters")
	flaggroup.Add(flags, "Zoo", func(f *pflag.FlagSet) {
		f.Bool("zebra", false, "stripes")
		flaggroup.Add(f, "Own", func(f *pflag.FlagSet) { f.Int("own", 1, "its own `number`") })
	})
	flags.Bool("ant", false, "legs")
	flags.Bool("gone", false, "hidden")
	flags.Lookup("gone").Hidden = true
	flaggroup.Set(flags, "Ants", "ant", "gone", "nonesuch")
	const want = `Zoo flags:
      --zebra   stripes

Ants flags:
      --ant   legs

Own flags:
      --own number   its own number (default 1)

Other flags:
      --plain   a flag that is in no group, whose
                usage is longer than a line of sixty
                characters
`
	if got := flaggroup.Usages(flaggroup.Groups(flags, "Zoo", "None"), 60); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := flaggroup.Of(flags.Lookup("zebra")); got != "Zoo" {
		t.Errorf("zebra is in %q", got)
	}
	plain := pflag.NewFlagSet("plain", pflag.ContinueOnError)
	plain.Bool("a", false, "b")
	if got := flaggroup.Usages(flaggroup.Groups(plain), 60); got != "Flags:\n      --a   b\n" {
		t.Errorf("got %q", got)
	}
}

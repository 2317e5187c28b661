package sharedflags_test

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/internal/sharedflags"
)

// access is shared, and region is another type of settings.
type access struct{ profile string }

func (a *access) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&a.profile, "profile", a.profile, "")
}

type region struct{ name string }

func (r *region) Flags(flags *pflag.FlagSet) { flags.StringVar(&r.name, "region", "here", "") }

// config is the config of a plugin with one flag of its own.
type config struct {
	*access
	flag string
}

func newConfig(flag string) *config { return &config{access: &access{profile: "default"}, flag: flag} }

func (c *config) Flags(flags *pflag.FlagSet) { flags.Bool(c.flag, false, "") }
func (c *config) Take(from *sharedflags.Set) { c.access = sharedflags.Of(from, c.access) }

// Two plugins and a third user share one value, with one flag.
func TestOneValue(t *testing.T) {
	set, flags := &sharedflags.Set{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	configs := []*config{newConfig("a"), newConfig("b")}
	for _, c := range configs {
		set.Give(c)
		c.Flags(flags)
	}
	third, other := sharedflags.Of(set, &access{}), sharedflags.Of(set, &region{})
	set.Give(other) // shares nothing
	set.Flags(flags)
	if got := flags.Lookup("profile").DefValue; got != "default" {
		t.Errorf("the default is %q", got)
	}
	if err := flags.Parse([]string{"--profile=prod", "--region=there", "--a"}); err != nil {
		t.Fatal(err)
	}
	if configs[0].profile != "prod" || configs[1].profile != "prod" || third.profile != "prod" || other.name != "there" {
		t.Errorf("profiles %q, %q and %q, region %q; want prod and there", configs[0].profile, configs[1].profile, third.profile, other.name)
	}
}

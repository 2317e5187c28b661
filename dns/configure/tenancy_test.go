package configure

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func parsed(t *testing.T, args ...string) *Options {
	t.Helper()
	o := New()
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(append([]string{"--source=service", "--provider=inmemory", "--policy=sync"}, args...)); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestCheckTenancy(t *testing.T) {
	for args, want := range map[string]string{
		"":                        "",
		"--name-policy=namespace": "",
		"--name-policy=mine":      "use one of shared, namespace",
		"--name-policy=namespace --registry=noop": "keeps no ownership records",
		"--registry=noop":                         "",
		"--max-names-per-namespace=-1":            "must not be negative",
		"--max-ttl=10ms":                          "at least 1s",
		"--max-ttl=60s --min-ttl=90s":             "lower than --min-ttl",
		"--max-ttl=60s --min-ttl=60s":             "",
		"--force-min-ttl":                         "there is no --min-ttl",
	} {
		err := parsed(t, strings.Fields(args)...).Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", args, err, want)
		}
	}
}

// Namespaces are read only if a rule has a label selector.
func TestNamespacesAreReadForSelectors(t *testing.T) {
	for rule, want := range map[string]bool{"a=a.test": false, "*=a.test": false, "{team=a}=a.test": true} {
		reads := false
		for _, r := range parsed(t, "--namespace-domains="+rule).Reads() {
			reads = reads || r.Plural == "namespaces"
		}
		if reads != want {
			t.Errorf("%s: namespaces are read: %v, want %v", rule, reads, want)
		}
	}
}

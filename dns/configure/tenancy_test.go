package configure

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// parsed returns options with some flags, which may include one of the process.
func parsed(t *testing.T, args ...string) (*Options, *pflag.FlagSet) {
	t.Helper()
	o, flags := New(), pflag.NewFlagSet("dns", pflag.ContinueOnError)
	flags.String("kubeconfig", "", "a flag of the process")
	o.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, flags
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
		o, _ := parsed(t, append([]string{"--source=service", "--provider=inmemory", "--policy=sync"}, strings.Fields(args)...)...)
		err := o.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", args, err, want)
		}
	}
}

// Namespaces are read only if a rule has a label selector.
func TestNamespacesAreReadForSelectors(t *testing.T) {
	for rule, want := range map[string]bool{"a=a.test": false, "*=a.test": false, "{team=a}=a.test": true} {
		reads := false
		o, _ := parsed(t, "--source=service", "--namespace-domains="+rule)
		for _, r := range o.Reads() {
			reads = reads || r.Plural == "namespaces"
		}
		if reads != want {
			t.Errorf("%s: namespaces are read: %v, want %v", rule, reads, want)
		}
	}
}

package configure

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// maxLed limits the publishers that are read from the lease of another process.
const maxLed = 1000

// LeadsFor returns a text with the publishers that a process leads for: each name, and a hash of
// the settings that decide about its records. It has no secrets, and is the same for all processes
// of one installation, whatever their versions.
func LeadsFor(publishers []*Options) string {
	var all []string
	for _, p := range publishers {
		all = append(all, p.Name+"/"+p.settingsHash(""))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// affectsRecords reports whether a flag affects which records are published, and isn't secret.
func affectsRecords(f *pflag.Flag) bool {
	return !slices.Contains(irrelevantFlags, f.Name) && !provider.IsSecret(f) && !strings.HasSuffix(f.Name, "-file")
}

// Unled returns the publishers that a leader doesn't run, or runs with other settings, and those
// that it runs. A publisher without a name is called "(unnamed)". leadsFor is the leader's
// [LeadsFor], which is untrusted.
func Unled(publishers []*Options, leadsFor string) (unled, led []string) {
	theirs := strings.SplitN(leadsFor, " ", maxLed+1)
	theirs = theirs[:min(len(theirs), maxLed)]
	for _, p := range publishers {
		if !slices.Contains(theirs, p.Name+"/"+p.settingsHash("")) {
			unled = append(unled, nameInLease(p.Name))
		}
	}
	for _, one := range theirs {
		name, _, _ := strings.Cut(one, "/")
		led = append(led, nameInLease(name))
	}
	return unled, led
}

func nameInLease(name string) string {
	if name == "" {
		return "(unnamed)"
	}
	return name
}

package configure

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// maxLed is how many publishers of another process are read.
const maxLed = 1000

// LeadsFor returns a text that says for which publishers a process leads: the name of each, and a hash of
// the settings that decide about its records. It has no secrets, and is the same for all processes of one
// installation, whatever their versions.
func LeadsFor(publishers []*Options) string {
	var all []string
	for _, p := range publishers {
		all = append(all, p.Name+"/"+p.settingsHash())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// settingsHash is as [Options.Fingerprint], without the version of the program.
func (o *Options) settingsHash() string {
	h := sha256.New()
	if o.own != nil {
		o.own.VisitAll(func(f *pflag.Flag) {
			if decides(f) {
				fmt.Fprintf(h, "%s %q\n", f.Name, f.Value)
			}
		})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// decides reports whether a flag decides which records there are, and may be known.
func decides(f *pflag.Flag) bool {
	return !slices.Contains(indifferent, f.Name) && !provider.IsSecret(f) && !strings.HasSuffix(f.Name, "-file")
}

// Unled returns the names of the publishers that a leader doesn't have, or has with other settings, and
// the names of those that it has. An unnamed publisher is called "(unnamed)". The text is what
// [LeadsFor] returned in the process that leads; anybody may have written it.
func Unled(publishers []*Options, leadsFor string) (unled, led []string) {
	theirs := strings.SplitN(leadsFor, " ", maxLed+1)
	theirs = theirs[:min(len(theirs), maxLed)]
	for _, p := range publishers {
		if !slices.Contains(theirs, p.Name+"/"+p.settingsHash()) {
			unled = append(unled, calledInLease(p.Name))
		}
	}
	for _, one := range theirs {
		name, _, _ := strings.Cut(one, "/")
		led = append(led, calledInLease(name))
	}
	return unled, led
}

func calledInLease(name string) string {
	if name == "" {
		return "(unnamed)"
	}
	return name
}

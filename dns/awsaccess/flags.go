package awsaccess

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// Flags are the settings of access to AWS that ExternalDNS has (spec/dns.md §12).
type Flags struct {
	// Profiles are profiles of the shared configuration. Each may be for another account.
	Profiles               []string
	AssumeRole, ExternalID string
	// Attempts is how often a request is tried.
	Attempts int
}

// NewFlags returns the defaults.
func NewFlags() Flags { return Flags{Attempts: 3} }

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Profiles, "aws-profile", f.Profiles, "A profile of the shared configuration of AWS; may be given several times, for several accounts")
	flags.StringVar(&f.AssumeRole, "aws-assume-role", f.AssumeRole, "The ARN of a role of AWS to assume")
	flags.StringVar(&f.ExternalID, "aws-assume-role-external-id", f.ExternalID, "The external ID to give when the role is assumed")
	provider.Secret(flags, "aws-assume-role-external-id")
	flags.IntVar(&f.Attempts, "aws-api-retries", f.Attempts, "How often a request to AWS is tried")
}

// Each returns the access with each of the profiles, or with the usual one if there are none.
func (f *Flags) Each() []Access {
	profiles := slices.Clone(f.Profiles)
	if len(profiles) == 0 {
		profiles = []string{""}
	}
	list := make([]Access, len(profiles))
	for i, profile := range profiles {
		list[i] = Access{Profile: profile, AssumeRole: f.AssumeRole, ExternalID: f.ExternalID, Attempts: f.Attempts}
	}
	return list
}

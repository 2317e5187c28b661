package awsaccess

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// Settings are the common settings of the AWS providers, with the flags of ExternalDNS (spec/dns.md
// §12).
type Settings struct {
	// Profiles are profiles of the shared configuration, possibly of different accounts.
	Profiles               []string
	AssumeRole, ExternalID string
	// Attempts limits the tries of a request.
	Attempts int
	// ZoneType is [provider.Public], [provider.Private], or empty for both.
	ZoneType string
}

// NewSettings returns the defaults.
func NewSettings() *Settings { return &Settings{Attempts: 3} }

// Flags implements [sharedflags.Settings] of internal/sharedflags.
func (s *Settings) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&s.Profiles, "aws-profile", s.Profiles, "a profile of the shared configuration of AWS; may be given several times, for several accounts at Route 53")
	flags.StringVar(&s.AssumeRole, "aws-assume-role", s.AssumeRole, "the ARN of a role of AWS to assume")
	flags.StringVar(&s.ExternalID, "aws-assume-role-external-id", s.ExternalID, "the external ID to give when the role is assumed")
	provider.Secret(flags, "aws-assume-role-external-id")
	flags.IntVar(&s.Attempts, "aws-api-retries", s.Attempts, "how often a request to AWS is tried")
	flags.StringVar(&s.ZoneType, "aws-zone-type", s.ZoneType, "only use zones, or namespaces of Cloud Map, of this type: public or private; both if it isn't given")
}

// Check returns an error if a setting is invalid.
func (s *Settings) Check() error {
	if s.ZoneType != "" && s.ZoneType != provider.Public && s.ZoneType != provider.Private {
		return fmt.Errorf("--aws-zone-type %s: give %s or %s", s.ZoneType, provider.Public, provider.Private)
	}
	if s.Attempts < 1 {
		return fmt.Errorf("--aws-api-retries %d: must be at least 1", s.Attempts)
	}
	return nil
}

// Each returns the access for each of the profiles, or for the default one if there are none.
func (s *Settings) Each() []Access {
	profiles := slices.Clone(s.Profiles)
	if len(profiles) == 0 {
		profiles = []string{""}
	}
	list := make([]Access, len(profiles))
	for i, profile := range profiles {
		list[i] = Access{Profile: profile, AssumeRole: s.AssumeRole, ExternalID: s.ExternalID, Attempts: s.Attempts}
	}
	return list
}

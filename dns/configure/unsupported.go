package configure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// missingProviders are the providers of ExternalDNS (spec/dns.md §8.10) that are not built in, each
// with its flags. A name ending with ? is a flag without a value.
var missingProviders = map[string]string{
	"alibabacloud": "alibaba-cloud-config-file alibaba-cloud-zone-type",
	"civo":         "",
	"dnsimple":     "",
	"exoscale":     "exoscale-apienv exoscale-apizone exoscale-apikey exoscale-apisecret exoscale-zones-cache-duration",
	"gandi":        "",
	"godaddy":      "godaddy-api-key godaddy-api-secret godaddy-api-ttl godaddy-api-ote?",
	"linode":       "",
	"ns1":          "ns1-endpoint ns1-ignoressl? ns1-min-ttl",
	"oci":          "oci-config-file oci-compartment-ocid oci-zone-scope oci-auth-instance-principal? oci-zones-cache-duration",
	"ovh":          "ovh-endpoint ovh-api-rate-limit ovh-enable-cname-relative?",
	"pihole":       "pihole-server pihole-password pihole-tls-skip-verify?",
	"scaleway":     "",
}

// missingSecrets are the flags of missing providers whose values must not be shown.
const missingSecrets = "exoscale-apikey exoscale-apisecret godaddy-api-key godaddy-api-secret pihole-password"

// missingUsage is the prefix of the usage of flags of missing providers.
const missingUsage = "accepted for compatibility, without effect: of the provider "

// isMissing reports whether ExternalDNS has or had a provider that is not built in.
func isMissing(name string) bool {
	_, missing := missingProviders[name]
	return missing || slices.ContainsFunc(formerProviders, func(p string) bool { return strings.ReplaceAll(p, "-", "") == name })
}

func missingProvider(name string) error {
	return fmt.Errorf("--provider=%s: not built in: run a webhook program for %[1]s beside Signpost and use --provider=webhook --webhook-provider-url=http://localhost:8888 (docs/dns/webhook.md)", name)
}

// ignoredValue is the value of a missing provider's flag. ExternalDNS ignores such flags unless
// --provider names their provider.
type ignoredValue struct{}

// String implements pflag.Value, as do Type and Set.
func (ignoredValue) String() string   { return "" }
func (ignoredValue) Type() string     { return "string" }
func (ignoredValue) Set(string) error { return nil }

// addMissing adds the flags of missing providers, so that one list of flags works for different
// providers, as with ExternalDNS.
func addMissing(flags *pflag.FlagSet) {
	for owner, names := range missingProviders {
		for name := range strings.FieldsSeq(names) {
			name, isSwitch := strings.CutSuffix(name, "?")
			if flags.Lookup(name) != nil {
				continue
			}
			f := flags.VarPF(ignoredValue{}, name, "", missingUsage+owner)
			f.Hidden = true
			if isSwitch {
				f.NoOptDefVal = "true"
			}
		}
	}
	for name := range strings.FieldsSeq(missingSecrets) {
		if f := flags.Lookup(name); f != nil && !provider.IsSecret(f) {
			provider.Secret(flags, name)
		}
	}
}

// Supported reports whether a flag has an effect: it doesn't belong to a missing provider.
func Supported(f *pflag.Flag) bool {
	_, ignored := f.Value.(ignoredValue)
	return !ignored
}

// MissingProvider returns the missing provider that a flag belongs to, or false.
func MissingProvider(f *pflag.Flag) (string, bool) {
	return strings.CutPrefix(f.Usage, missingUsage)
}

// formerFlags are flags that ExternalDNS has removed before 0.22, each with the replacement.
var formerFlags = map[string]string{
	"txt-new-format-only":    "only the current format is written, and older ones are read: leave the flag out",
	"traefik-disable-legacy": "legacy kinds of Traefik are read only with --traefik-enable-legacy: leave the flag out",
	"rfc2136-create-ptr":     "use --create-ptr with --managed-record-types=PTR",
	"pihole-api-version":     "the provider pihole is not built in: use --provider=webhook with a webhook program for it",
	"cf-api-endpoint":        "the source cloudfoundry was removed: leave the flag out",
	"cf-username":            "the source cloudfoundry was removed: leave the flag out",
	"cf-password":            "the source cloudfoundry was removed: leave the flag out",
}

// formerProviders are the providers that ExternalDNS has removed, as the prefixes of their flags.
var formerProviders = []string{
	"akamai", "bluecat", "designate", "digitalocean", "dyn", "ibmcloud", "infoblox", "plural", "rcodezero", "rdns", "safedns", "stackpath", "tencent-cloud", "transip", "ultradns", "vinyldns", "vultr",
}

// FormerFlag returns the replacement of a flag that ExternalDNS has removed, or "". The name has no
// leading dashes.
func FormerFlag(name string) string {
	name = strings.TrimPrefix(name, "no-")
	if hint := formerFlags[name]; hint != "" {
		return "removed from ExternalDNS: " + hint
	}
	i := slices.IndexFunc(formerProviders, func(p string) bool { return strings.HasPrefix(name, p+"-") })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("removed from ExternalDNS with the provider %s: leave the flag out, or use --provider=webhook with a webhook program for %[1]s", formerProviders[i])
}

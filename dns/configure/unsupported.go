package configure

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// unsupported are flags of ExternalDNS (spec/dns.md §12) for features that don't exist here
// yet. They are defined so that the error can say so. A name that ends with ? is that of a
// flag without a value.
var unsupported = map[string]string{
	"the provider alibabacloud": "alibaba-cloud-config-file alibaba-cloud-zone-type",
	"the provider exoscale":     "exoscale-apienv exoscale-apizone exoscale-apikey exoscale-apisecret exoscale-zones-cache-duration",
	"the provider godaddy":      "godaddy-api-key godaddy-api-secret godaddy-api-ttl godaddy-api-ote?",
	"the provider ns1":          "ns1-endpoint ns1-ignoressl? ns1-min-ttl",
	"the provider oci":          "oci-config-file oci-compartment-ocid oci-zone-scope oci-auth-instance-principal? oci-zones-cache-duration",
	"the provider ovh":          "ovh-endpoint ovh-api-rate-limit ovh-enable-cname-relative?",
	"the provider pihole":       "pihole-server pihole-password pihole-tls-skip-verify?",
}

// unsupportedSecrets are the unsupported flags whose values must not be shown, not even in an
// error.
const unsupportedSecrets = "exoscale-apikey exoscale-apisecret godaddy-api-key godaddy-api-secret pihole-password"

// unsupportedNames are the providers of ExternalDNS that don't exist here yet; all of its sources do.
var unsupportedNames = map[string][]string{
	"provider": {
		"alibabacloud", "civo", "dnsimple", "exoscale", "godaddy",
		"linode", "ns1", "oci", "ovh", "pihole", "scaleway",
	},
}

// notYet is the value of an unsupported flag.
type notYet struct{ what string }

// String implements pflag.Value, as do Type and Set.
func (n *notYet) String() string   { return "" }
func (n *notYet) Type() string     { return "string" }
func (n *notYet) Set(string) error { return errors.New("not supported yet: " + n.what) }

func addUnsupported(flags *pflag.FlagSet) {
	for what, names := range unsupported {
		for name := range strings.FieldsSeq(names) {
			name, isSwitch := strings.CutSuffix(name, "?")
			if flags.Lookup(name) != nil {
				continue
			}
			f := flags.VarPF(&notYet{what: what}, name, "", "not supported yet: "+what)
			f.Hidden = true
			if isSwitch {
				f.NoOptDefVal = "true"
			}
		}
	}
	for name := range strings.FieldsSeq(unsupportedSecrets) {
		if f := flags.Lookup(name); f != nil && !provider.IsSecret(f) {
			provider.Secret(flags, name)
		}
	}
}

package settings

import (
	"slices"
	"testing"
)

// The clients' trust domains are those of the setting, else the trust domain of pods.
func TestClientTrustDomains(t *testing.T) {
	mtls := []string{"--xds-auth=mtls", "--xds-tls-cert=c", "--xds-tls-key=k", "--xds-client-ca=a"}
	for name, tt := range map[string]struct {
		args []string
		want []string
		err  string
	}{
		"default":         {args: mtls, want: []string{"cluster.local"}},
		"that of pods":    {args: append(mtls, "--identity-trust-domain=pods.test"), want: []string{"pods.test"}},
		"two":             {args: append(mtls, "--xds-client-trust-domains=a.test,b.test"), want: []string{"a.test", "b.test"}},
		"an ID":           {args: append(mtls, "--xds-client-trust-domains=spiffe://a.test"), err: "--xds-client-trust-domains=spiffe://a.test: must be trust domains, such as cluster.local: lower-case letters, digits, dots, dashes and underscores"},
		"upper case":      {args: append(mtls, "--xds-client-trust-domains=A.test"), err: "--xds-client-trust-domains=A.test: must be trust domains, such as cluster.local: lower-case letters, digits, dots, dashes and underscores"},
		"without TLS":     {args: []string{"--xds-client-trust-domains=a.test"}, err: "--xds-client-trust-domains=a.test: is only used with --xds-auth=mtls"},
		"no certificates": {},
	} {
		t.Run(name, func(t *testing.T) {
			c := parseFlags(t, "xds", slices.Clone(tt.args)...)
			checkChecked(t, c, "", tt.err)
			if got := c.XDS.Settled().ClientTrustDomains; tt.err == "" && !slices.Equal(got, tt.want) {
				t.Errorf("trust domains %q, want %q", got, tt.want)
			}
		})
	}
}

// A process with both roles has one trust domain, unless the section of xds says another.
func TestTrustDomainOfDestination(t *testing.T) {
	c, err := Decode("config.yaml", []byte("apiVersion: signpost.dev/v1alpha1\nkind: Config\ndestination:\n  identityTrustDomain: pods.test\nxds: {}\n"), References{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.XDS.IdentityTrustDomain; got != "pods.test" {
		t.Errorf("trust domain %s, want pods.test", got)
	}
}

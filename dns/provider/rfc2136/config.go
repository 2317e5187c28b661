package rfc2136

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bodgit/tsig"
	mdns "github.com/miekg/dns"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/certfiles"
)

// Plugin returns the kind of provider.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:   []string{"rfc2136"},
		Summary: "sends dynamic updates to a DNS server such as BIND",
		New:     func() provider.Config { return &Config{BatchChangeSize: 50, Strategy: disabled} },
	}
}

// Config is the settings of the provider.
type Config struct {
	// Hosts are the names or addresses of the servers. Port is their port; zero means the standard
	// one.
	Hosts []string
	Port  int
	// Zones are the names of the zones; an empty list means the root.
	Zones []string
	// Insecure sends messages without signatures.
	Insecure bool
	// TSIGKeyName, TSIGSecret (in base64) and TSIGAlgorithm are the signing key.
	TSIGKeyName, TSIGSecret, TSIGAlgorithm string
	// AXFR lists zones by transfer. Otherwise zones seem to be empty.
	AXFR bool
	// oldAXFR is the deprecated flag for AXFR. If it is given, it takes precedence.
	oldAXFR *pflag.Flag
	// MinTTL is the minimum TTL of record sets.
	MinTTL time.Duration
	// GSSTSIG signs with Kerberos, as a user of a realm.
	GSSTSIG                                           bool
	KerberosRealm, KerberosUsername, KerberosPassword string
	// BatchChangeSize limits the changes in one message.
	BatchChangeSize int
	// UseTLS uses DNS over TLS (RFC 7858). SkipTLSVerify accepts any certificate.
	UseTLS, SkipTLSVerify bool
	// Strategy says which server is used first: disabled, random, or round-robin.
	Strategy string
}

// Flags implements [provider.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.Hosts, "rfc2136-host", c.Hosts, "the name or address of a DNS server; may be given several times")
	flags.IntVar(&c.Port, "rfc2136-port", c.Port, "the port of the DNS servers; 0 is 53, or 853 with TLS")
	flags.StringArrayVar(&c.Zones, "rfc2136-zone", c.Zones, "a zone to update; may be given several times; the root if it isn't given")
	flags.BoolVar(&c.Insecure, "rfc2136-insecure", c.Insecure, "send without signatures")
	flags.StringVar(&c.TSIGKeyName, "rfc2136-tsig-keyname", c.TSIGKeyName, "the name of the TSIG key to sign with")
	flags.StringVar(&c.TSIGSecret, "rfc2136-tsig-secret", c.TSIGSecret, "the secret of the TSIG key, in base64")
	provider.Secret(flags, "rfc2136-tsig-secret")
	flags.StringVar(&c.TSIGAlgorithm, "rfc2136-tsig-secret-alg", c.TSIGAlgorithm, "the algorithm of the TSIG key: "+strings.Join(algorithms(), ", "))
	flags.BoolVar(&c.AXFR, "rfc2136-axfr", c.AXFR, "list zones by transfer; without it nothing is ever updated or deleted")
	flags.Bool("rfc2136-tsig-axfr", c.AXFR, "the same as --rfc2136-axfr; if both are given, this one counts")
	c.oldAXFR = flags.Lookup("rfc2136-tsig-axfr")
	// The flag exists.
	_ = flags.MarkDeprecated("rfc2136-tsig-axfr", "use --rfc2136-axfr")
	flags.DurationVar(&c.MinTTL, "rfc2136-min-ttl", c.MinTTL, "the lowest TTL of record sets; lower ones are raised to it")
	flags.BoolVar(&c.GSSTSIG, "rfc2136-gss-tsig", c.GSSTSIG, "sign updates with Kerberos (GSS-TSIG), and also transfers if the server requires it")
	flags.StringVar(&c.KerberosRealm, "rfc2136-kerberos-realm", c.KerberosRealm, "the Kerberos realm of the user")
	flags.StringVar(&c.KerberosUsername, "rfc2136-kerberos-username", c.KerberosUsername, "the Kerberos user")
	flags.StringVar(&c.KerberosPassword, "rfc2136-kerberos-password", c.KerberosPassword, "the password of the Kerberos user")
	provider.Secret(flags, "rfc2136-kerberos-password")
	flags.IntVar(&c.BatchChangeSize, "rfc2136-batch-change-size", c.BatchChangeSize, "the most changes to send in one message")
	flags.BoolVar(&c.UseTLS, "rfc2136-use-tls", c.UseTLS, "send over TLS")
	flags.BoolVar(&c.SkipTLSVerify, "rfc2136-skip-tls-verify", c.SkipTLSVerify, "accept any certificate of the DNS servers")
	flags.StringVar(&c.Strategy, "rfc2136-load-balancing-strategy", c.Strategy, "which server is used first: disabled (the first one given), random, or round-robin")
}

// hmacs are the algorithms of TSIG keys.
var hmacs = map[string]string{
	"hmac-sha1": mdns.HmacSHA1, "hmac-sha224": mdns.HmacSHA224, "hmac-sha256": mdns.HmacSHA256,
	"hmac-sha384": mdns.HmacSHA384, "hmac-sha512": mdns.HmacSHA512,
}

func algorithms() []string {
	return []string{"hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"}
}

// Open implements [provider.Config].
func (c *Config) Open(_ context.Context, in provider.Input) (provider.Provider, error) {
	if c.oldAXFR != nil && c.oldAXFR.Changed {
		c.AXFR = c.oldAXFR.Value.String() == "true"
	}
	problems := []error{c.check(), c.checkSigning()}
	tlsConfig, err := c.tlsConfig(in.TLS)
	zones, zonesErr := c.zones(in)
	if err := errors.Join(append(problems, err, zonesErr)...); err != nil {
		return nil, err
	}
	if !c.AXFR && !in.CreateOnly {
		in.Log.Warn("Zones are not listed without --rfc2136-axfr: nothing will be updated or deleted")
	}
	p := &Provider{
		zones:   zones,
		servers: newServers(c.addresses(), c.Strategy),
		dialer:  dialer{tls: tlsConfig, dryRun: in.DryRun, dialTimeout: dialTimeout, answerTimeout: answerTimeout},
		axfr:    c.AXFR,
		minTTL:  int64(c.MinTTL / time.Second),
		batch:   c.BatchChangeSize,
		log:     in.Log,
		budget:  in.Budget,
	}
	switch {
	case c.GSSTSIG:
		p.dialer.kerberos = &kerberos{realm: strings.ToUpper(c.KerberosRealm), username: c.KerberosUsername, password: c.KerberosPassword}
	case !c.Insecure:
		name := mdns.CanonicalName(c.TSIGKeyName)
		p.dialer.key = &signer{name: name, algorithm: c.algorithm(), provider: tsig.HMAC{name: c.TSIGSecret}}
	}
	return p, nil
}

func (c *Config) check() error {
	var errs []error
	if len(c.addresses()) == 0 {
		errs = append(errs, errors.New("--rfc2136-host must name a DNS server"))
	}
	if c.Port < 0 || c.Port > 65535 {
		errs = append(errs, fmt.Errorf("--rfc2136-port is %d, must be from 0 to 65535", c.Port))
	}
	if c.MinTTL < 0 || c.MinTTL > maxTTL*time.Second {
		errs = append(errs, fmt.Errorf("--rfc2136-min-ttl is %s, must be from 0 to %s", c.MinTTL, maxTTL*time.Second))
	}
	if c.BatchChangeSize < 1 {
		errs = append(errs, fmt.Errorf("--rfc2136-batch-change-size is %d, must be 1 or more", c.BatchChangeSize))
	}
	if !slices.Contains(strategies, c.Strategy) {
		errs = append(errs, fmt.Errorf("--rfc2136-load-balancing-strategy is %q, must be one of %s", c.Strategy, strings.Join(strategies, ", ")))
	}
	return errors.Join(errs...)
}

func (c *Config) checkSigning() error {
	switch {
	case c.GSSTSIG && c.Insecure:
		return errors.New("--rfc2136-insecure and --rfc2136-gss-tsig exclude each other")
	case c.GSSTSIG && c.UseTLS:
		return errors.New("--rfc2136-use-tls and --rfc2136-gss-tsig exclude each other: Kerberos keys are negotiated without TLS")
	case c.GSSTSIG && (c.KerberosRealm == "" || c.KerberosUsername == "" || c.KerberosPassword == ""):
		return errors.New("--rfc2136-gss-tsig: give --rfc2136-kerberos-realm, --rfc2136-kerberos-username and --rfc2136-kerberos-password too")
	case c.GSSTSIG || c.Insecure:
		return nil
	case c.algorithm() == "":
		return fmt.Errorf("--rfc2136-tsig-secret-alg is %q, must be one of %s, unless --rfc2136-insecure or --rfc2136-gss-tsig is given",
			c.TSIGAlgorithm, strings.Join(algorithms(), ", "))
	}
	if _, err := domainName(c.TSIGKeyName); err != nil || c.TSIGKeyName == "" {
		return fmt.Errorf("--rfc2136-tsig-keyname is %q, must be the name of a key", c.TSIGKeyName)
	}
	// The error of the decoder would show a part of the secret.
	if secret, err := base64.StdEncoding.DecodeString(c.TSIGSecret); err != nil || len(secret) == 0 {
		return fmt.Errorf("%w: --rfc2136-tsig-secret must be in base64", provider.ErrCredentials)
	}
	return nil
}

func (c *Config) algorithm() string {
	return hmacs[strings.TrimSuffix(strings.ToLower(c.TSIGAlgorithm), ".")]
}

// addresses returns the servers as host:port.
func (c *Config) addresses() []string {
	port := 53
	if c.UseTLS {
		port = 853
	}
	port = cmp.Or(c.Port, port)
	var addresses []string
	for _, host := range c.Hosts {
		if host = strings.Trim(strings.TrimSpace(host), "[]"); host != "" {
			addresses = append(addresses, net.JoinHostPort(host, strconv.Itoa(port)))
		}
	}
	return addresses
}

// tlsConfig returns a configuration according to RFC 7858 and RFC 9103, without a server name. It
// is nil without TLS.
func (c *Config) tlsConfig(files certfiles.ClientFiles) (*tls.Config, error) {
	if !c.UseTLS {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"dot"}, InsecureSkipVerify: c.SkipTLSVerify}
	if err := files.AddTo(config, provider.TLSFlags()); err != nil {
		return nil, err
	}
	return config, nil
}

// zones returns the zones by their canonical names.
func (c *Config) zones(in provider.Input) (map[string]*zone, error) {
	names := c.Zones
	if len(names) == 0 {
		names = []string{"."}
	}
	zones := map[string]*zone{}
	for _, name := range names {
		full, err := domainName(dns.Canonical(name))
		if err != nil {
			return nil, fmt.Errorf("--rfc2136-zone: %w", err)
		}
		canonical := strings.TrimSuffix(full, ".")
		if dns.ZoneNameEndsWith(canonical, in.ZoneIDs) && dns.ZoneNameEndsWith(canonical, in.ZoneNames) {
			zones[canonical] = &zone{Zone: dns.Zone{ID: canonical, Name: canonical}, full: full}
		}
	}
	return zones, nil
}

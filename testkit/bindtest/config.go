package bindtest

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Config configures a server. The zero Config has no zones.
type Config struct {
	// Zones are the primary zones of the server.
	Zones []Zone
	// Keys are the TSIG keys that the server accepts.
	Keys []Key
	// TLS enables DNS over TLS.
	TLS bool
	// KDC enables keys that are negotiated with Kerberos (GSS-TSIG, RFC 3645), with the services of this KDC.
	// The name of such a key is the user's, such as alice@EXAMPLE.TEST.
	KDC *KDC
	// Options are further lines for the options statement of named.conf, each with a semicolon.
	Options string
}

// Zone is a zone with dynamic updates.
type Zone struct {
	// Name has no trailing dot; empty for the root.
	Name string
	// Key is the name of the key that may transfer and update the zone. If it is empty, everybody may.
	Key string
	// Policy is the content of an update-policy statement, which restricts what the key may update.
	Policy string
	// Records are further lines of the zone file, after the SOA and the NS of the apex. Names are relative to
	// the zone; the default TTL is 300.
	Records string
}

// Key is a TSIG key.
type Key struct {
	// Name has no trailing dot. Algorithm is as in named.conf, such as hmac-sha256.
	Name, Algorithm string
	// Secret is base64-encoded.
	Secret string
}

// Serial is the first serial number of each zone.
const Serial = 100

// conf returns the named.conf of a server.
func (c Config) conf(s *Server) string {
	var b strings.Builder
	if c.TLS {
		fmt.Fprintf(&b, "tls dot {\n\tcert-file %q;\n\tkey-file %q;\n\tprotocols { TLSv1.3; };\n};\n", s.CertFile, s.keyFile())
	}
	fmt.Fprintf(&b, "options {\n\tdirectory %q;\n\tserver-id %q;\n", s.dir, s.id)
	fmt.Fprintf(&b, "\tlisten-on port %d { 127.0.0.1; };\n\tlisten-on-v6 { none; };\n", s.port)
	if c.TLS {
		fmt.Fprintf(&b, "\tlisten-on port %d tls dot { 127.0.0.1; };\n", s.tlsPort)
	}
	b.WriteString("\tpid-file none;\n\tsession-keyfile none;\n\trecursion no;\n\tdnssec-validation no;\n\tnotify no;\n" +
		"\tallow-query { any; };\n\tmax-cache-size 4M;\n\tempty-zones-enable no;\n")
	if c.KDC != nil {
		fmt.Fprintf(&b, "\ttkey-gssapi-keytab %q;\n", c.KDC.keytab())
	}
	b.WriteString(c.Options)
	b.WriteString("\n};\ncontrols { };\n")
	for _, k := range c.Keys {
		fmt.Fprintf(&b, "key %q {\n\talgorithm %s;\n\tsecret %q;\n};\n", k.Name, k.Algorithm, k.Secret)
	}
	for i, z := range c.Zones {
		b.WriteString(z.conf(zoneFile(s.dir, i)))
	}
	return b.String()
}

func (z Zone) conf(file string) string {
	who := "any"
	if z.Key != "" {
		who = fmt.Sprintf("key %q", z.Key)
	}
	update := fmt.Sprintf("allow-update { %s; }", who)
	if z.Policy != "" {
		update = fmt.Sprintf("update-policy { %s }", z.Policy)
	}
	return fmt.Sprintf("zone %q {\n\ttype primary;\n\tfile %q;\n\tallow-transfer { %s; };\n\t%s;\n};\n", z.Name+".", file, who, update)
}

func zoneFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("zone%d", i)) }

// Contents returns the zone file of a zone, in the format of RFC 1035, section 5.
func (z Zone) Contents() string {
	if z.Name == "" {
		// The root is the only zone that contains its own name server, which then needs an address.
		z.Records += "\nns.invalid. A 127.0.0.1"
	}
	return fmt.Sprintf("$ORIGIN %s\n$TTL 300\n@ SOA ns.invalid. hostmaster.invalid. %d 3600 600 86400 60\n@ NS ns.invalid.\n%s\n",
		z.Name+".", Serial, z.Records)
}

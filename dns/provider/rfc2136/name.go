package rfc2136

import (
	"errors"
	"fmt"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
)

// domainName returns a name in the form of miekg/dns: ASCII, with special characters escaped, and
// with a final dot.
func domainName(name string) (string, error) {
	ascii := name
	if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }) {
		var err error
		if ascii, err = dns.ToASCII(name); err != nil {
			return "", fmt.Errorf("%q is not a domain name: %w", name, err)
		}
	}
	var wire [256]byte
	end, err := mdns.PackDomainName(mdns.Fqdn(ascii), wire[:], 0, nil, false)
	if err != nil {
		return "", notDomainName(name, err)
	}
	// A name has at most 255 octets (RFC 1035 2.3.4), which packing doesn't check.
	if end > 255 {
		return "", fmt.Errorf("%q is not a domain name: it is longer than 255 octets", name)
	}
	full, _, err := mdns.UnpackDomainName(wire[:end], 0)
	if err != nil {
		return "", notDomainName(name, err)
	}
	return full, nil
}

func notDomainName(name string, err error) error {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 63 {
			return fmt.Errorf("%q is not a domain name: a label is longer than 63 octets", name)
		}
	}
	return fmt.Errorf("%q is not a domain name: %w", name, err)
}

// ownerName returns the name of a record set as a domain name in lower case.
func ownerName(name string) (string, error) {
	full, err := domainName(name)
	return strings.ToLower(full), err
}

// targetName returns a target that is a name as a domain name.
func targetName(name string) (string, error) {
	if name == "" {
		return "", errors.New("the name is empty")
	}
	return domainName(name)
}

// withoutDot removes the dot at the end of a domain name. The root stays a dot.
func withoutDot(full string) string {
	if full == "." {
		return full
	}
	return strings.TrimSuffix(full, ".")
}

package rfc2136

import (
	"fmt"

	"github.com/bodgit/tsig"
	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns/provider"
)

// errRefused is a refusal that may concern one name, or everything.
var errRefused = fmt.Errorf("%w: the server refuses it", provider.ErrCredentials)

// errExists and errGone say which prerequisite failed (RFC 2136 2.4): that there is no record set
// under a name, or that the listed one exists.
var (
	errExists = fmt.Errorf("%w: there is a record set that must not be there", provider.ErrStale)
	errGone   = fmt.Errorf("%w: the record set doesn't exist any more", provider.ErrStale)
)

// codeError returns the provider error for a response code (RFC 2136 3.8). With codes about the
// message or its sender, nothing was changed. With any other code, such as SERVFAIL, the outcome is
// unknown.
func codeError(code int) error {
	name := mdns.RcodeToString[code]
	switch code {
	case mdns.RcodeSuccess:
		return nil
	case mdns.RcodeRefused:
		return fmt.Errorf("%w (%s)", errRefused, name)
	case mdns.RcodeNotAuth:
		return fmt.Errorf("%w: the server is not authoritative for the zone, or doesn't accept the key (%s)", provider.ErrCredentials, name)
	case mdns.RcodeYXDomain, mdns.RcodeYXRrset:
		return fmt.Errorf("%w (%s)", errExists, name)
	case mdns.RcodeNXRrset:
		return fmt.Errorf("%w (%s)", errGone, name)
	case mdns.RcodeNameError:
		return fmt.Errorf("%w (%s)", provider.ErrStale, name)
	case mdns.RcodeNotZone:
		return fmt.Errorf("%w: a name is not in the zone (%s)", provider.ErrRejected, name)
	case mdns.RcodeFormatError, mdns.RcodeNotImplemented:
		return fmt.Errorf("%w: the server doesn't understand it (%s)", provider.ErrRejected, name)
	}
	return fmt.Errorf("the server failed (%s)", name)
}

// refused returns the error for the error code in a signature (RFC 8945 5.2).
func (s *signer) refused(code uint16) error {
	keyFlags, secretFlags := "check --rfc2136-tsig-keyname and --rfc2136-tsig-secret-alg", "check --rfc2136-tsig-secret and --rfc2136-tsig-secret-alg"
	if s.algorithm == tsig.GSS {
		keyFlags = "it was negotiated with Kerberos, and has expired or the server was restarted"
		secretFlags = "it was made with Kerberos"
	}
	switch int(code) {
	case mdns.RcodeBadKey:
		return fmt.Errorf("%w: the server doesn't know the key (BADKEY); %s", provider.ErrCredentials, keyFlags)
	case mdns.RcodeBadSig:
		return fmt.Errorf("%w: the signature is wrong (BADSIG); %s", provider.ErrCredentials, secretFlags)
	case mdns.RcodeBadTime:
		return fmt.Errorf("%w: the clock differs from the server's by more than five minutes (BADTIME)", provider.ErrCredentials)
	}
	return codeError(mdns.RcodeNotAuth)
}

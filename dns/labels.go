package dns

import (
	"errors"
	"strings"
)

// LabelNonce is the label in which ExternalDNS keeps the nonce of an encrypted ownership text in
// memory. It is never written.
const LabelNonce = "txt-encryption-nonce"

// LabelIntended is the label of an item of DynamoDB whose claim isn't confirmed. Its value says which
// targets the record set may have.
const LabelIntended = "signpost-intended"

// reservedLabels are the labels with a fixed meaning. Only Signpost itself sets them.
var reservedLabels = map[string]bool{
	LabelOwner: true, LabelResource: true, LabelOwnedRecord: true, LabelDescription: true, LabelNonce: true, LabelInstance: true, LabelIntended: true,
}

// IsReservedLabel reports whether a label has a fixed meaning. Neither objects nor providers may
// set it.
func IsReservedLabel(key string) bool { return reservedLabels[key] }

// CheckLabel returns an error, with the allowed values, if a label can't be written into an
// ownership text so that every reader gets it back unchanged, however a server presents the text
// (RFC 1035, 5.1).
func CheckLabel(key, value string) error {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) || r == ' ' || r == '=' }) {
		return errors.New("the name of a label has printable ASCII characters without blanks, commas, quotes, backslashes and equals signs")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return errors.New("a label has printable ASCII characters without commas, quotes and backslashes")
	}
	return nil
}

// plain reports whether a character needs no escape in an ownership text or a TXT record.
func plain(r rune) bool { return r >= ' ' && r <= '~' && r != ',' && r != '"' && r != '\\' }

package coredns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// service is the value of a key, as defined by SkyDNS.
type service struct {
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	Priority int    `json:"priority,omitempty"`
	Weight   int    `json:"weight,omitempty"`
	Text     string `json:"text,omitempty"`
	Mail     bool   `json:"mail,omitempty"`
	TTL      uint32 `json:"ttl,omitempty"`
	// TargetStrip is the number of leading labels of the key's name that aren't part of the record's
	// name.
	TargetStrip int    `json:"targetstrip,omitempty"`
	Group       string `json:"group,omitempty"`
	Owner       string `json:"owner,omitempty"`
}

// encode returns the JSON of s.
func (s service) encode() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode an entry: %w", err)
	}
	return string(text), nil
}

// value returns the target of s for record sets of a type, or "".
func (s *service) value(name, recordType string) string {
	switch {
	case recordType == dns.TypeTXT:
		return s.Text
	case s.Host == "" || hostType(name, s.Host) != recordType:
		return ""
	}
	return s.Host
}

// hostType returns the type of the record that points a name to a host.
func hostType(name, host string) string {
	if dns.IsReverseName(name) {
		return dns.TypePTR
	}
	return dns.TypeOfTarget(host)
}

// layout maps names to keys in etcd.
type layout struct {
	// prefix ends with a slash.
	prefix string
}

// key returns the key of a canonical name, without a further label.
func (l layout) key(name string) string {
	labels := strings.Split(name, ".")
	slices.Reverse(labels)
	return l.prefix + strings.Join(labels, "/")
}

// name returns the canonical name of the records of a key. It returns false for keys that no record
// can have, and for keys with upper case, which CoreDNS never reads.
func (l layout) name(key string, s *service) (string, bool) {
	path, ok := strings.CutPrefix(key, l.prefix)
	if !ok {
		return "", false
	}
	labels := strings.Split(path, "/")
	if s.TargetStrip < 0 || s.TargetStrip >= len(labels) || slices.Contains(labels, "") {
		return "", false
	}
	slices.Reverse(labels)
	name := strings.Join(labels[s.TargetStrip:], ".")
	return name, dns.Canonical(name) == name
}

// label returns eight hexadecimal digits as the further label for a target. Each attempt gives
// another label. Those of texts sort last, because ExternalDNS reads the entries of a name in key
// order and takes a host after a text for one of the texts.
func label(recordType, target string, attempt int) string {
	sum := sha256.Sum256([]byte(recordType + "\x00" + target + "\x00" + strconv.Itoa(attempt)))
	const text = 0x80
	sum[0] &^= text
	if recordType == dns.TypeTXT {
		sum[0] |= text
	}
	return hex.EncodeToString(sum[:4])
}

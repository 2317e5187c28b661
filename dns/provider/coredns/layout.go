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

// service is the value of a key, as SkyDNS defined it.
type service struct {
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	Priority int    `json:"priority,omitempty"`
	Weight   int    `json:"weight,omitempty"`
	Text     string `json:"text,omitempty"`
	Mail     bool   `json:"mail,omitempty"`
	TTL      uint32 `json:"ttl,omitempty"`
	// TargetStrip is how many labels at the beginning of the key's name are not the record's.
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

// value returns what s has for record sets of a type: nothing if it is of another.
func (s *service) value(name, recordType string) string {
	switch {
	case recordType == dns.TypeTXT:
		return s.Text
	case s.Host == "" || hostType(name, s.Host) != recordType:
		return ""
	}
	return s.Host
}

// hostType returns the type of the record of a name that leads to a host.
func hostType(name, host string) string {
	if dns.IsReverseName(name) {
		return dns.TypePTR
	}
	return dns.TypeOfTarget(host)
}

// layout knows where names are in etcd.
type layout struct {
	// prefix ends with a slash.
	prefix string
}

// key returns the key of a canonical name alone.
func (l layout) key(name string) string {
	labels := strings.Split(name, ".")
	slices.Reverse(labels)
	return l.prefix + strings.Join(labels, "/")
}

// name returns the canonical name of the records of a key with a value. It reports false
// for keys that no record can have, and for those that CoreDNS, which asks in lower case,
// never reads.
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

// label returns a label of eight hexadecimal digits for the key of a target. What differs
// in attempt differs in its label.
func label(recordType, target string, attempt int) string {
	sum := sha256.Sum256([]byte(recordType + "\x00" + target + "\x00" + strconv.Itoa(attempt)))
	return hex.EncodeToString(sum[:4])
}

package dynamodb

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/owner/claims"
)

// Attributes of an item (spec/dns.md §4.3).
const (
	attributeKey    = "k"
	attributeOwner  = "o"
	attributeLabels = "l"
)

// none is the value of [dns.LabelIntended] if no record set is ours. Else it is the prints of the
// targets that the record set may have.
const none = "none"

type item struct {
	// k is the key as spelled in the table.
	k string
	// labels are those in the table, without the owner. The map is never changed.
	labels map[string]string
}

// size returns the memory of an item with its claim, in bytes.
func (it *item) size() int {
	return listlimit.SetSize(&dns.RecordSet{Name: it.k, Labels: it.labels})
}

// textOf returns the key of a claim in the form of the table.
func textOf(c *claims.Claim) string {
	name := c.Key.Name
	if c.Set != nil {
		name = strings.TrimSuffix(c.Set.Name, ".")
	}
	return name + "#" + c.Key.Type + "#" + c.Key.SetIdentifier
}

// keyOf is the inverse of textOf. The name of the result is canonical, and empty if the text is
// malformed.
func keyOf(text string) dns.Key {
	name, rest, _ := strings.Cut(text, "#")
	recordType, setIdentifier, ok := strings.Cut(rest, "#")
	if !ok || recordType == "" {
		return dns.Key{}
	}
	return dns.Key{Name: dns.Canonical(name), Type: recordType, SetIdentifier: setIdentifier}
}

// parseItem returns an item of a scan, or nil if it has no key.
func parseItem(attributes map[string]types.AttributeValue) *item {
	k, ok := attributes[attributeKey].(*types.AttributeValueMemberS)
	if !ok {
		return nil
	}
	it := &item{k: k.Value, labels: map[string]string{}}
	if labels, ok := attributes[attributeLabels].(*types.AttributeValueMemberM); ok {
		for name, value := range labels.Value {
			if s, ok := value.(*types.AttributeValueMemberS); ok && name != dns.LabelOwner {
				it.labels[name] = s.Value
			}
		}
	}
	return it
}

// itemOf returns the item of a claim, or nil if it has none. An existing item keeps its key.
func itemOf(c *claims.Claim, had *item) *item {
	if c == nil || c.State == claims.Refuted {
		return nil
	}
	it := &item{k: textOf(c), labels: maps.Clone(c.Labels)}
	if had != nil {
		it.k = had.k
	}
	delete(it.labels, dns.LabelOwner)
	if c.State == claims.Intended {
		prints := make([]string, len(c.Prints))
		for i, p := range c.Prints {
			prints[i] = string(p)
		}
		if it.labels[dns.LabelIntended] = strings.Join(prints, " "); len(prints) == 0 {
			it.labels[dns.LabelIntended] = none
		}
	}
	return it
}

func claimOf(key dns.Key, it *item, ownerID string) *claims.Claim {
	if it == nil {
		return nil
	}
	c := &claims.Claim{Key: key, Labels: maps.Clone(it.labels), State: claims.Confirmed, Progress: claims.Done, Handle: it.k}
	c.Labels[dns.LabelOwner] = ownerID
	if text, intended := it.labels[dns.LabelIntended]; intended {
		delete(c.Labels, dns.LabelIntended)
		c.State, c.Progress = claims.Intended, claims.Underway
		for _, p := range strings.Fields(text) {
			if p != none {
				c.Prints = append(c.Prints, claims.Print(p))
			}
		}
	}
	return c
}

func labelsValue(labels map[string]string) types.AttributeValue {
	m := make(map[string]types.AttributeValue, len(labels))
	for name, value := range labels {
		m[name] = stringValue(value)
	}
	return &types.AttributeValueMemberM{Value: m}
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

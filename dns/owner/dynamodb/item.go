package dynamodb

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/signpostd/signpost/dns"
)

// The attributes of an item (spec/dns.md §4.3).
const (
	attributeKey    = "k"
	attributeOwner  = "o"
	attributeLabels = "l"
)

// item is what the table has about a record set.
type item struct {
	// k is the key as it is spelled in the table.
	k string
	// labels include the owner. The map is never changed.
	labels map[string]string
}

// textOf returns the key of a record set as the table has it.
func textOf(r *dns.RecordSet) string {
	return strings.TrimSuffix(r.Name, ".") + "#" + r.Type + "#" + r.SetIdentifier
}

// keyOf is the reverse of textOf. The name of the result is canonical, and empty if the text
// has another form.
func keyOf(text string) dns.Key {
	name, rest, _ := strings.Cut(text, "#")
	recordType, setIdentifier, ok := strings.Cut(rest, "#")
	if !ok || recordType == "" {
		return dns.Key{}
	}
	return dns.Key{Name: dns.Canonical(name), Type: recordType, SetIdentifier: setIdentifier}
}

// parseItem returns an item of a scan and its key. The name of the key is empty if the item
// isn't ours.
func parseItem(attributes map[string]types.AttributeValue, ownerID string) (dns.Key, *item) {
	k, ok := attributes[attributeKey].(*types.AttributeValueMemberS)
	if !ok {
		return dns.Key{}, nil
	}
	it := &item{k: k.Value, labels: map[string]string{dns.LabelOwner: ownerID}}
	if labels, ok := attributes[attributeLabels].(*types.AttributeValueMemberM); ok {
		for name, value := range labels.Value {
			if s, ok := value.(*types.AttributeValueMemberS); ok && name != dns.LabelOwner {
				it.labels[name] = s.Value
			}
		}
	}
	return keyOf(k.Value), it
}

// kept returns the labels that are stored for a record set, and its owner.
func kept(labels map[string]string, ownerID string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, dns.LabelOwnedRecord)
	labels[dns.LabelOwner] = ownerID
	return labels
}

// labelsValue returns the value of the attribute for labels. It doesn't contain the owner.
func labelsValue(labels map[string]string) types.AttributeValue {
	m := make(map[string]types.AttributeValue, len(labels))
	for name, value := range labels {
		if name != dns.LabelOwner {
			m[name] = stringValue(value)
		}
	}
	return &types.AttributeValueMemberM{Value: m}
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

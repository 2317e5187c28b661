package owner

import (
	"fmt"

	"github.com/signpostd/signpost/dns"
)

// SetInstance sets the instance of the process, which is written into ownership records
// ([dns.LabelInstance]); empty means none. Record sets of our owner ID and another instance aren't
// ours. It is called before zones are read.
func (t *TXT) SetInstance(instance string) { t.instance = instance }

// signed adds our owner and instance to the labels that are written. If an existing text only lacks
// an instance, it isn't rewritten for that.
func (t *TXT) signed(labels, there map[string]string) map[string]string {
	labels[dns.LabelOwner] = t.id
	delete(labels, dns.LabelInstance)
	_, has := there[dns.LabelInstance]
	if t.instance == "" || there != nil && !has && FormatText(labels) == FormatText(there) {
		return labels
	}
	labels[dns.LabelInstance] = t.instance
	return labels
}

// otherInstance returns the instance in an ownership text, for messages; "" if it is ours or
// unknown.
func (t *TXT) otherInstance(labels map[string]string) string {
	if instance := dns.OtherInstance(labels, t.instance); instance != "" {
		return fmt.Sprintf(" (instance %q)", instance)
	}
	return ""
}

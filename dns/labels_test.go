package dns

import "testing"

// No object may set a label that has a meaning for Signpost: that would say of its record sets what isn't so.
func TestIsReservedLabel(t *testing.T) {
	for _, label := range []string{"owner", "resource", "ownedRecord", "aws-sd-description", "txt-encryption-nonce", "instance", "signpost-intended"} {
		if !IsReservedLabel(label) {
			t.Errorf("%s isn't reserved", label)
		}
	}
	if IsReservedLabel("team") {
		t.Error("team is reserved")
	}
}

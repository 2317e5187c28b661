package dns

import "testing"

// Each label with a meaning for Signpost is reserved, so that no object can forge it.
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

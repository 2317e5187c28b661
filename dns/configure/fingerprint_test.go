package configure

import (
	"slices"
	"testing"
)

func fingerprintOf(t *testing.T, args ...string) string {
	t.Helper()
	o, _ := parsed(t, args...)
	return o.Fingerprint()
}

// Only settings that affect records change the fingerprint.
func TestFingerprint(t *testing.T) {
	base := []string{"--source=service", "--provider=pdns", "--policy=sync"}
	before := fingerprintOf(t, base...)
	if again := fingerprintOf(t, "--policy=sync", "--source=service", "--provider=pdns"); again != before || len(before) != 16 {
		t.Errorf("the same settings have the fingerprints %s and %s", before, again)
	}
	for flag, different := range map[string]bool{
		"--source=ingress": true, "--default-targets=192.0.2.66": true, "--fqdn-template={{.Name}}.shop.test": true, "--txt-owner-id=other": true,
		"--domain-filter=shop.test": true, "--pdns-server=http://192.0.2.1:8081": true, "--min-ttl=60s": true, "--policy=upsert-only": true,
		"--approve-plan=0123456789abcdef": false, "--dry-run": false, "--once": false, "--interval=5m": false, "--max-deletions=3": false,
		"--batch-change-size=3": false, "--kubeconfig=x": false, "--pdns-api-key=secret": false, "--pdns-api-key-file=/secret": false,
	} {
		if got := fingerprintOf(t, append(slices.Clone(base), flag)...); (got != before) != different {
			t.Errorf("%s: another fingerprint: %v, want %v", flag, got != before, different)
		}
	}
	o, _ := parsed(t)
	for _, name := range irrelevantFlags {
		if o.publisherFlags.Lookup(name) == nil {
			t.Errorf("%s is no flag", name)
		}
	}
}

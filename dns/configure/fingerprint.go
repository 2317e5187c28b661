package configure

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/internal/version"
)

// irrelevantFlags are the flags that don't affect which records are published, only when and how
// they are written.
var irrelevantFlags = []string{
	"approve-plan", "batch-change-interval", "batch-change-size", "deletion-delay", "deletion-window", "dry-run", "events", "events-emit", "interval",
	"max-deletions", "max-deletions-percent", "max-object-updates-percent", "max-records", "max-updates", "max-updates-percent", "max-zone-records", "max-zones", "min-event-sync-interval", "once", "provider-cache-time", "provider-calls-per-second", "tls-ca", "tls-client-cert", "tls-client-cert-key",
	"txt-cache-interval", "webhook-server", "zones-cache-duration",
}

// Fingerprint identifies the settings that decide which records are published, and the version of
// the program. It reveals no secrets.
func (o *Options) Fingerprint() string {
	return o.settingsHash(fmt.Sprintf("version %q\n", version.Current()))
}

// settingsHash returns the hash of a prefix and the settings that decide which records are published.
func (o *Options) settingsHash(prefix string) string {
	h := sha256.New()
	h.Write([]byte(prefix))
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		if affectsRecords(f) {
			fmt.Fprintf(h, "%s %q\n", f.Name, f.Value)
		}
	})
	return hex.EncodeToString(h.Sum(nil)[:8])
}

package pdns

import (
	"strings"

	"github.com/signpostd/signpost/dns"
)

// textTarget returns the content of a TXT record as it is listed. Strings that were only split for
// their length are joined, because some backends of PowerDNS split them too.
func textTarget(content string) string {
	texts, ok := dns.QuotedTexts(strings.TrimSpace(content))
	if !ok {
		texts = []string{content}
	}
	return dns.TextTarget(texts)
}

package inspectclient

import (
	"strings"

	"github.com/signpostd/signpost/app/output"
)

// emptyText is the text of an empty list: a sentence without its full stop, and the filters that were
// given. pairs are names and values of filters, as for [queryOf].
func emptyText(sentence string, pairs ...string) string {
	var given []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			given = append(given, pairs[i]+"="+output.Clean(pairs[i+1]))
		}
	}
	if len(given) > 0 {
		sentence += " (filters: " + strings.Join(given, ", ") + ")"
	}
	return sentence + ".\n"
}

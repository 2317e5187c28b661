package sourcetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// show writes a result without its skips, each line after the margin.
func show(r source.Result, margin string) string {
	var out strings.Builder
	for _, set := range r.Records {
		fmt.Fprintf(&out, "%s%s\n", margin, showRecord(set))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&out, "%sproblem %s %q: %s\n", margin, p.Subject, p.Value, p.Reason)
	}
	if r.Err != nil {
		fmt.Fprintf(&out, "%serror %s\n", margin, strings.ReplaceAll(r.Err.Error(), "\n", "; "))
	}
	return out.String()
}

// showAll is show with the skips at the end.
func showAll(r source.Result, margin string) string {
	var out strings.Builder
	out.WriteString(show(r, margin))
	for _, skip := range r.Skipped {
		about := string(skip.Reason)
		if skip.Subject != "" {
			about += " " + skip.Subject
		}
		fmt.Fprintf(&out, "%sskipped %s: %s\n", margin, about, skip.Message)
	}
	return out.String()
}

func showRecord(r *dns.RecordSet) string {
	words := []string{r.Name, r.Type}
	for _, target := range r.Targets {
		if strings.ContainsAny(target, " \t\n\"") {
			target = fmt.Sprintf("%q", target)
		}
		words = append(words, target)
	}
	if r.TTL != 0 {
		words = append(words, fmt.Sprintf("ttl=%d", r.TTL))
	}
	if r.SetIdentifier != "" {
		words = append(words, "set="+r.SetIdentifier)
	}
	for _, p := range r.Properties {
		words = append(words, p.Name+"="+p.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		words = append(words, name+"="+r.Labels[name])
	}
	if r.Invalid {
		words = append(words, "invalid")
	}
	return strings.Join(words, " ")
}

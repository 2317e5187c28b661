package aws

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// staleSuffixes end messages that mean that the zone has changed since it was listed.
var staleSuffixes = []string{"already exists", "was not found", "do not match the current values"}

var (
	// namePattern matches the names in a message.
	namePattern = regexp.MustCompile(`[^\s'",\[\]=]+\.(?:[\s'",\]]|$)`)
	// targetPattern matches the target in a message about an alias, which doesn't name the alias.
	targetPattern = regexp.MustCompile(`alias that targets ([^\s,]+),`)
	// messageStart matches the beginning of each message in a list.
	messageStart = regexp.MustCompile(`(?:^\[?|, )(Tried to |RRSet |Invalid |The request |Duplicate |Resource record set |A HostedZone )`)
)

// split returns the single messages of lists.
func split(messages []string) []string {
	var list []string
	for _, text := range messages {
		text = strings.TrimSuffix(text, "]")
		starts := messageStart.FindAllStringSubmatchIndex(text, -1)
		if len(starts) == 0 {
			list = append(list, strings.TrimPrefix(text, "["))
			continue
		}
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			list = append(list, text[at[2]:end])
		}
	}
	return list
}

// blame sets the errors of the units that a response names, and returns the others.
func blame(all []*unit, invalid *invalidBatch) []*unit {
	byName, byTarget := map[string][]*unit{}, map[string][]*unit{}
	for _, u := range all {
		for _, name := range namesOf(u) {
			byName[name] = append(byName[name], u)
		}
		for _, s := range u.Swaps {
			if s.New != nil && s.New.AliasTarget != nil {
				target := strings.TrimSuffix(aws.ToString(s.New.AliasTarget.DNSName), ".")
				byTarget[target] = append(byTarget[target], u)
			}
		}
	}
	for _, message := range split(invalid.messages) {
		err := fmt.Errorf("%w: Route 53 said %q", classOf(message), shorten(message))
		if target := targetPattern.FindStringSubmatch(message); target != nil {
			batch.FailAll(byTarget[strings.TrimSuffix(target[1], ".")], err)
			continue
		}
		for _, found := range namePattern.FindAllString(message, -1) {
			batch.FailAll(byName[strings.TrimRight(found, ". '\",]")], err)
		}
	}
	return batch.Pending(all)
}

func classOf(message string) error {
	if strings.HasPrefix(message, "Tried to create an alias") {
		return provider.ErrRejected
	}
	for _, phrase := range staleSuffixes {
		if strings.Contains(message, phrase) {
			return provider.ErrStale
		}
	}
	return provider.ErrRejected
}

// singleError returns the error of a single unit for a refusal that names none.
func singleError(err error) error {
	if invalid, ok := errors.AsType[*invalidBatch](err); ok {
		for _, message := range split(invalid.messages) {
			if errors.Is(classOf(message), provider.ErrStale) {
				return fmt.Errorf("%w: %s", provider.ErrStale, invalid.Error())
			}
		}
	}
	return err
}

package source

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// What sources let in of an object that its kind doesn't limit by itself.
const (
	// NameLimit is for the names that one object asks for.
	NameLimit = 512
	// AddressLimit is for the addresses of one object, and for the targets that it gives one name. It
	// isn't for the pods of a headless Service and for nodes, because each is an object of its own.
	AddressLimit = 256
	// ReferenceLimit is for the objects of one kind that one object refers to.
	ReferenceLimit = 64
	// TextLimit is for a name or a target, in bytes: the longest name of DNS.
	TextLimit = 253
	// quoteLimit is how much of a text a message quotes, in bytes.
	quoteLimit = 64
	// skipLimit is how many parts of an object are listed that give no record.
	skipLimit = 8
)

// TooMany is the reason of a problem: a list is longer than what is used of it.
func TooMany(items, limit int) string {
	return fmt.Sprintf("%d items: the first %d are used; shorten the list", items, limit)
}

// Quoted returns the beginning of a text, quoted.
func Quoted(text string) string { return fmt.Sprintf("%q", shortened(text)) }

// shortened returns the beginning of a text, as UTF-8.
func shortened(text string) string { return sanitize.Shorten(text, quoteLimit) }

// Findings collects the problems of one version of an object, and the parts of it that give no
// record. The zero value has none. It belongs to one goroutine.
type Findings struct {
	problems []dns.Problem
	more     int
	skips    []Skip
	unlisted int
}

// Problem adds a problem of a field, whose value is quoted in part.
func (f *Findings) Problem(field, value, reason string) {
	if len(f.problems) == kube.ProblemLimit {
		f.more++
		return
	}
	f.problems = append(f.problems, dns.Problem{Subject: field, Value: shortened(value), Reason: reason})
}

// Skip adds a part that gives no record.
func (f *Findings) Skip(reason SkipReason, subject, message string) {
	if len(f.skips) == skipLimit {
		f.unlisted++
		return
	}
	f.skips = append(f.skips, Skip{Reason: reason, Subject: shortened(subject), Message: message})
}

// Copy returns findings to which more can be added without a change of these.
func (f *Findings) Copy() *Findings {
	copied := *f
	copied.problems, copied.skips = slices.Clip(f.problems), slices.Clip(f.skips)
	return &copied
}

// Reported returns the problems as a table reports them, for an object that others have something from.
func (f *Findings) Reported() []kube.Problem {
	var p kube.Problems
	for _, problem := range f.problems {
		p.Add(problem.Reason, "%s", problem.Subject)
	}
	return p.List()
}

// Into adds the findings to the result of an object. Skips come before remarks about annotations.
func (f *Findings) Into(result *Result, object dns.Object) {
	for _, p := range f.problems {
		p.Object = object
		result.Problems = append(result.Problems, p)
	}
	if f.more > 0 {
		result.Problems = append(result.Problems, dns.Problem{Object: object, Reason: fmt.Sprintf("and %d more problems; correct these first", f.more)})
	}
	skips := slices.Clip(f.skips)
	if f.unlisted > 0 {
		last := skips[len(skips)-1]
		skips = append(skips, Skip{Reason: last.Reason, Message: fmt.Sprintf("and %d more names give no record, for these or other reasons", f.unlisted)})
	}
	result.Skipped = append(skips, result.Skipped...)
}

// CutIn is [Cut] to the limit of addresses, for an object that others have addresses from.
func CutIn[T any](p *kube.Problems, list []T, field string) []T {
	if len(list) <= AddressLimit {
		return list
	}
	p.Add(TooMany(len(list), AddressLimit), "%s", field)
	return list[:AddressLimit]
}

// Cut returns the first items of a list. If there are more than the limit, that is a problem of
// the field.
func Cut[T any](f *Findings, list []T, limit int, field string) []T {
	if len(list) <= limit {
		return list
	}
	f.Problem(field, "", TooMany(len(list), limit))
	return list[:limit]
}

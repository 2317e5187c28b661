package source

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// Limits of an object, unless its kind is limited itself.
const (
	// NameLimit limits the names of one object.
	NameLimit = 512
	// AddressLimit limits the addresses of one object, and the targets of one name of it. The pods of
	// a headless Service and nodes are not limited, because each is an object of its own.
	AddressLimit = 256
	// ReferenceLimit limits the references of one object to objects of one kind.
	ReferenceLimit = 64
	// PropertyLimit limits the properties for providers of one record set, because each record set of an
	// object has them.
	PropertyLimit = 128
	// TextLimit limits a name or target in bytes: the longest DNS name.
	TextLimit = 253
	// quoteLimit limits a quoted text in a message, in bytes.
	quoteLimit = 64
	// skipLimit limits the listed parts of an object without a record.
	skipLimit = 8
)

// TooMany is the reason of a problem: a list exceeds its limit.
func TooMany(items, limit int) string {
	return fmt.Sprintf("%d items: the first %d are used; shorten the list", items, limit)
}

// Quoted returns the beginning of a text, quoted.
func Quoted(text string) string { return fmt.Sprintf("%q", shortened(text)) }

// shortened returns the beginning of a text, as UTF-8.
func shortened(text string) string { return sanitize.Shorten(text, quoteLimit) }

// Findings collects the problems of one version of an object, and its parts without a record. The
// zero value is empty. It belongs to one goroutine.
type Findings struct {
	problems []dns.Problem
	more     int
	skips    []Skip
	unlisted int
}

// Problem adds a problem of a field, whose value is quoted and cut.
func (f *Findings) Problem(field, value, reason string) {
	if len(f.problems) == kube.ProblemLimit {
		f.more++
		return
	}
	f.problems = append(f.problems, dns.Problem{Subject: field, Value: shortened(value), Reason: reason})
}

// Skip adds a part without a record.
func (f *Findings) Skip(reason SkipReason, subject, message string) {
	if len(f.skips) == skipLimit {
		f.unlisted++
		return
	}
	f.skips = append(f.skips, Skip{Reason: reason, Subject: shortened(subject), Message: message})
}

// Copy returns a copy, to which more findings can be added.
func (f *Findings) Copy() *Findings {
	copied := *f
	copied.problems, copied.skips = slices.Clip(f.problems), slices.Clip(f.skips)
	return &copied
}

// Reported returns the problems in the form of a table, for an object that others refer to.
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

// CutIn is [Cut] for an object that others refer to. The field is formatted with the indexes.
func CutIn[T any](p *kube.Problems, list []T, limit int, field string, indexes ...any) []T {
	if len(list) <= limit {
		return list
	}
	p.Add(TooMany(len(list), limit), field, indexes...)
	return list[:limit]
}

// Cut returns the first items of a list. A longer list is a problem of the field.
func Cut[T any](f *Findings, list []T, limit int, field string) []T {
	if len(list) <= limit {
		return list
	}
	f.Problem(field, "", TooMany(len(list), limit))
	return list[:limit]
}

package preview

import (
	"fmt"
	"strings"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

const (
	// explainLimit limits the explained objects of a publisher, and reasonLimit their reasons.
	explainLimit = 200
	reasonLimit  = 8
)

// Unpublished is an object, or a part of it, that gives no record, and why.
type Unpublished struct {
	// Publisher is that of [Zone].
	Publisher string `json:"publisher,omitempty"`
	Object    Object `json:"object"`
	// Reason is a word. Subject is the name, the field or the annotation of the reason; empty for
	// the whole object.
	Reason  string `json:"reason"`
	Subject string `json:"subject,omitempty"`
	Message string `json:"message"`
}

// explain adds the reasons why objects give no record, except those among the problems and errors
// of the plan.
func (p *Plan) explain(name string, explained publisher.Explanations) {
	if p.Unpublished == nil {
		p.Unpublished = []Unpublished{}
	}
	for _, e := range explained.List {
		list := reasonsOf(name, e)
		if more := len(list) - reasonLimit; more > 0 {
			last := list[reasonLimit]
			last.Subject, last.Message = "", fmt.Sprintf("and %d more reasons of this object", more)
			list = append(list[:reasonLimit], last)
		}
		p.Unpublished = append(p.Unpublished, list...)
	}
	p.MoreUnpublished += explained.More
}

// reasonsOf returns the reasons why a publisher leaves out an object, or parts of it, each once.
func reasonsOf(name string, e publisher.Explanation) []Unpublished {
	object := Object{Kind: e.Object.Kind, Namespace: e.Object.Namespace, Name: e.Object.Name, Source: e.Object.Source}
	var list []Unpublished
	known := map[Unpublished]bool{}
	add := func(reason, subject, message string) {
		u := Unpublished{Publisher: name, Object: object, Reason: reason, Subject: subject, Message: message}
		if !known[u] {
			known[u] = true
			list = append(list, u)
		}
	}
	for _, s := range e.Skipped {
		add(string(s.Reason), s.Subject, s.Message)
	}
	for _, d := range e.Dropped {
		switch d.Reason {
		case desired.DropInvalid, desired.DropRefused, desired.DropZone, desired.DropDuplicate:
			// These are among the problems, or nothing is lost.
		case desired.DropTarget, desired.DropReplaced:
			add(string(d.Reason), strings.Join(append([]string{d.Name}, cutTargets(d.Targets)...), " "), d.Message)
		default:
			add(string(d.Reason), d.Name, d.Message)
		}
	}
	return list
}

// cutTargets returns the first targets of a list, and a sign if there are more.
func cutTargets(targets []string) []string {
	const most = 4
	if len(targets) <= most {
		return targets
	}
	return append(targets[:most:most], "…")
}

// String returns the reason as one line, such as "Service shop/web: NoHostname: …".
func (u Unpublished) String() string {
	text := u.Object.String()
	if u.Publisher != "" {
		text += ", publisher " + u.Publisher
	}
	return text + ": " + u.why()
}

// why returns the reason without the object.
func (u Unpublished) why() string {
	text := u.Reason
	if u.Subject != "" {
		text += " " + u.Subject
	}
	return text + ": " + u.Message
}

// writeUnpublished writes the reasons why objects give no record, if the plan has them. Further
// reasons of an object follow it without its name.
func (p *Plan) writeUnpublished(text *strings.Builder) {
	if len(p.Unpublished) == 0 {
		return
	}
	text.WriteString("Objects that give no record, or not all:\n")
	for i, u := range p.Unpublished {
		line := "  " + output.Clean(u.String())
		if i > 0 && p.Unpublished[i-1].Object == u.Object && p.Unpublished[i-1].Publisher == u.Publisher {
			line = "    " + output.Clean(u.why())
		}
		text.WriteString(line + "\n")
	}
	if p.MoreUnpublished > 0 {
		fmt.Fprintf(text, "  and %d more objects\n", p.MoreUnpublished)
	}
	text.WriteString("\n")
}

// maxWarnings limits the warnings about annotations of a publisher.
const maxWarnings = 20

// warn adds the annotations that are probably misspelled, and counts objects without a record.
func (p *Plan) warn(name string, explained publisher.Explanations) {
	p.Incomplete += len(explained.List) + explained.More
	of := len(p.Warnings) // those of other publishers
	for _, e := range explained.List {
		for _, u := range reasonsOf(name, e) {
			if u.Reason == string(source.SkipUnknownAnnotation) && len(p.Warnings)-of < maxWarnings {
				p.Warnings = append(p.Warnings, u)
			}
		}
	}
}

// writeLeftOut writes the warnings about annotations, and the numbers of objects that give no
// record or are not read.
func (p *Plan) writeLeftOut(text *strings.Builder) {
	if p.Unpublished == nil { // otherwise these are among Unpublished or Problems
		for _, w := range p.Warnings {
			text.WriteString("Warning: " + output.Clean(w.String()) + "\n")
		}
		if p.Incomplete > 0 {
			fmt.Fprintf(text, "Objects that give no record, or not all: %d. --verbose says why.\n", p.Incomplete)
		}
	}
	if len(p.Unread) > 0 {
		var kinds []string
		for _, u := range p.Unread {
			kinds = append(kinds, u.String())
		}
		fmt.Fprintf(text, "Read by no source: %s.\n", output.Clean(strings.Join(kinds, ", ")))
	}
}

// String returns the number of objects, the kind, and the sources that could read them, such as "1
// Ingress (add --source=ingress)".
func (u Unread) String() string {
	text := fmt.Sprintf("%d %s", u.Count, u.Kind)
	if len(u.Sources) > 0 {
		text += " (add --source=" + strings.Join(u.Sources, " or --source=") + ")"
	}
	return text
}

package inspect

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxOffset limits the offset of a page. No list has as many items, and offset + limit can't
// overflow.
const maxOffset = 1_000_000_000

// maxParameter limits a parameter in bytes. No name, URL of a Service or search is longer.
const maxParameter = 512

// parameters are those of a request, each of them once.
type parameters struct {
	values map[string]string
	// offset and limit are the requested page of a list.
	offset, limit int
}

// paged are the parameters of every list.
var paged = []string{"offset", "limit"}

// parseParameters parses the query of a URL, in which only the allowed parameters may occur.
func parseParameters(raw string, allowed []string) (parameters, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return parameters{}, badRequest("the query of the URL can't be read: %.100v: write it as name=value&name=value, with percent encoding", err)
	}
	p := parameters{values: map[string]string{}, limit: PageSize}
	for name, all := range values {
		switch {
		case !slices.Contains(allowed, name):
			return parameters{}, badRequest("the parameter %.50q is unknown: %s", name, allowedText(allowed))
		case len(all) > 1:
			return parameters{}, badRequest("the parameter %s is there %d times: give it once", name, len(all))
		case len(all[0]) > maxParameter:
			return parameters{}, badRequest("the parameter %s has %d bytes: it may have %d", name, len(all[0]), maxParameter)
		}
		p.values[name] = all[0]
	}
	return p, p.parsePage()
}

func allowedText(allowed []string) string {
	if len(allowed) == 0 {
		return "none is allowed here"
	}
	return "allowed are " + strings.Join(allowed, ", ")
}

func (p *parameters) parsePage() (err error) {
	if text := p.values["offset"]; text != "" {
		if p.offset, err = strconv.Atoi(text); err != nil || p.offset < 0 || p.offset > maxOffset {
			return badRequest("offset is %.20q: must be a number from 0 to %d", text, maxOffset)
		}
	}
	if text := p.values["limit"]; text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 1 || p.limit > PageSize {
			return badRequest("limit is %.20q: must be a number from 1 to %d", text, PageSize)
		}
	}
	return nil
}

// Window returns one page of a list, and the offset of the next one.
func Window[T any](all []T, offset, limit int) ([]T, Page) {
	from := min(offset, len(all))
	to := min(from+limit, len(all))
	page := Page{Total: len(all)}
	if to < len(all) {
		page.Next = to
	}
	return all[from:to:to], page
}

// sortedWindow returns one page of a list that isn't sorted, as [Window] would of the sorted one.
// It sorts only what the first pages need.
func sortedWindow[T any](all []T, compare func(a, b *T) int, offset, limit int) ([]T, Page) {
	end := min(offset+limit, len(all))
	page := Page{Total: len(all)}
	if end < len(all) {
		page.Next = end
	}
	kept := make([]*T, 0, min(2*end+PageSize, len(all)))
	var last *T
	trim := func() {
		slices.SortFunc(kept, compare)
		if kept = kept[:min(end, len(kept))]; len(kept) == end && end > 0 {
			last = kept[end-1]
		}
	}
	for i := range all {
		if last != nil && compare(&all[i], last) >= 0 {
			continue
		}
		if len(kept) == cap(kept) {
			trim()
		}
		kept = append(kept, &all[i])
	}
	trim()
	part := make([]T, 0, limit)
	for _, item := range kept[min(offset, len(kept)):] {
		part = append(part, *item)
	}
	return part, page
}

// flag parses a parameter that is true or false; false if it is missing.
func (p parameters) flag(parameter string) (bool, error) {
	switch text := p.values[parameter]; text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, badRequest("%s is %.20q: must be true or false", parameter, text)
	}
}

// namespaced parses a parameter NAMESPACE/NAME; empty if it is missing.
func (p parameters) namespaced(parameter string) (namespace, name string, err error) {
	text := p.values[parameter]
	if text == "" {
		return "", "", nil
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", badRequest("%s is %.100q: write NAMESPACE/NAME", parameter, text)
	}
	return namespace, name, nil
}

// choices parses a comma-separated parameter with values of a fixed list.
func choices[S ~string](p parameters, parameter string, allowed []S) ([]S, error) {
	if p.values[parameter] == "" {
		return nil, nil
	}
	var chosen []S
	for text := range strings.SplitSeq(p.values[parameter], ",") {
		if !slices.Contains(allowed, S(text)) {
			return nil, badRequest("%s has %.50q: allowed are %s", parameter, text, joined(allowed))
		}
		if !slices.Contains(chosen, S(text)) {
			chosen = append(chosen, S(text))
		}
	}
	return chosen, nil
}

func joined[S ~string](all []S) string {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return b.String()
}

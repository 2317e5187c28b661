package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The sides, named after whose controllers write.
const (
	kubernetesSide = "kubernetes"
	signpost       = "signpost"
)

// disagreement is what differs in the objects of one kind that belong to one Service.
type disagreement struct {
	kind, service string
	// kubernetes and signpost are the outputs that have no equal on the other side.
	kubernetes, signpost []output
}

// compare returns the disagreements between two clusters, by kind and Service. None are left out.
func compare(kubernetes, signpost []output) []disagreement {
	found := map[[2]string]*disagreement{}
	at := func(o output) *disagreement {
		key := [2]string{o.kind, o.service}
		if found[key] == nil {
			found[key] = &disagreement{kind: o.kind, service: o.service}
		}
		return found[key]
	}
	balance := map[string]int{} // how many more the Kubernetes side has of a text
	for _, o := range kubernetes {
		balance[o.text()]++
	}
	for _, o := range signpost {
		balance[o.text()]--
	}
	for _, o := range kubernetes {
		if text := o.text(); balance[text] > 0 {
			balance[text]--
			at(o).kubernetes = append(at(o).kubernetes, o)
		}
	}
	for _, o := range signpost {
		if text := o.text(); balance[text] < 0 {
			balance[text]++
			at(o).signpost = append(at(o).signpost, o)
		}
	}
	var all []disagreement
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		all = append(all, *found[key])
	}
	return all
}

// String returns the fields that differ, of outputs that resemble each other, and whole outputs otherwise.
func (d disagreement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of Service %s:\n", d.kind, d.service)
	ours := slices.Clone(d.signpost)
	for _, theirs := range d.kubernetes {
		i := mostAlike(theirs, ours)
		if i < 0 {
			fmt.Fprintf(&b, "  only with Kubernetes: %s\n", indent(theirs.text()))
			continue
		}
		for _, name := range differing(theirs, ours[i]) {
			fmt.Fprintf(&b, "  %s: %s with Kubernetes, %s with Signpost\n", name, orAbsent(theirs, name), orAbsent(ours[i], name))
		}
		ours = slices.Delete(ours, i, i+1)
	}
	for _, o := range ours {
		fmt.Fprintf(&b, "  only with Signpost: %s\n", indent(o.text()))
	}
	return b.String()
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

func orAbsent(o output, field string) string {
	if v, ok := o.fields[field]; ok {
		return v
	}
	return "absent"
}

// mostAlike returns the index of the output with the fewest fields that differ, or -1 if there are none.
func mostAlike(o output, candidates []output) int {
	best, least := -1, 0
	for i, c := range candidates {
		if n := len(differing(o, c)); best < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// differing returns the names of the fields that two outputs don't have in common, in order.
func differing(a, b output) []string {
	names := map[string]bool{}
	for name, v := range a.fields {
		if other, ok := b.fields[name]; !ok || other != v {
			names[name] = true
		}
	}
	for name := range b.fields {
		if _, ok := a.fields[name]; !ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

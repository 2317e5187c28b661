package specrefs

import (
	"fmt"
	"regexp"
	"strings"
)

// citation matches everything that may be a citation. Its groups are: a document, and a section after it
// without its sign; a section of an RFC; a section, and the end of a range of sections; the name of a case;
// the numbers of cases.
var citation = regexp.MustCompile(`\bspec/([a-z]+\.md)\b(?:\s+((?:[Ss]ection |[Aa]ppendix )[0-9A-Z.]+|[0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)+)\b)?` +
	`|\b(RFC +[0-9]+,? +§)` +
	`|§ ?((?:[0-9]+|[A-Z])(?:\.[0-9]+)*)(?:–([0-9]+(?:\.[0-9]+)*))?` +
	`|\b([A-Z]{2}-[0-9]{2}[a-z]?|[A-Z]{1,2}[0-9]{1,2})\b` +
	`|\b[Cc]ases?\s+([0-9]+(?:(?:,|,? and|,? to)\s+[0-9]+)*)\b`)

var number = regexp.MustCompile(`[0-9]+`)

// Check returns a sentence for each citation in the text of a file that refers to nothing. The path of the
// file is relative to the root of the repository, with slashes.
func Check(documents []Document, path, text string) []string {
	c := checker{documents: map[string]Document{}, path: path}
	c.tree, c.known = treeOf(path)
	for _, d := range documents {
		c.documents[d.Name] = d
		if !c.known {
			c.tree.cases = append(c.tree.cases, d.Name)
		}
	}
	for _, p := range passages(path, text) {
		c.named = ""
		for _, at := range citation.FindAllStringSubmatchIndex(p.text, -1) {
			c.line = p.line + strings.Count(p.text[:at[0]], "\n")
			c.cite(groups(p.text, at))
		}
	}
	return c.dangling
}

// groups returns the groups of a match, "" for groups without a match.
func groups(text string, at []int) []string {
	all := make([]string, len(at)/2)
	for i := range all {
		if at[2*i] >= 0 {
			all[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	return all
}

// checker checks the citations of a file.
type checker struct {
	documents map[string]Document
	path      string
	tree      tree
	// known is true if the file is in one of the trees. Elsewhere the name of a case must be unique among all
	// documents.
	known bool
	// named is the document that the passage named last.
	named    string
	line     int
	dangling []string
}

// cite checks one match.
func (c *checker) cite(match []string) {
	document, signless, ofRFC := match[1], match[2], match[3]
	section, end, name, numbers := match[4], match[5], match[6], match[7]
	switch {
	case ofRFC != "":
	case document != "":
		c.named = document
		if _, exists := c.documents[document]; !exists {
			c.complain("there is no docs/spec/%s", document)
		} else if signless != "" {
			c.complain("spec/%s %s is not how sections are cited: write §", document, signless)
		}
	case section != "":
		c.citeSection(section)
		if end != "" {
			c.citeSection(end)
		}
	case name != "":
		c.citeCase(name)
	default:
		for _, n := range number.FindAllString(numbers, -1) {
			c.citeCase(n)
		}
	}
}

func (c *checker) citeSection(section string) {
	document := c.tree.section
	if c.named != "" {
		document = c.named
	}
	if document == "" {
		c.complain("§%s is of no document: write the document before it, as in spec/%s §%s", section, dns, section)
		return
	}
	if d, exists := c.documents[document]; exists && !d.Sections[section] {
		c.complain("spec/%s has no §%s", document, section)
	}
}

// citeCase looks for a case in the document that was named, then in those of the tree. The first document
// with cases of this family decides. If there is none, the text only looks like the name of a case.
func (c *checker) citeCase(name string) {
	order := c.tree.cases
	if c.named != "" {
		order = append([]string{c.named}, order...)
	}
	var with, without []string
	for _, document := range order {
		d := c.documents[document]
		switch {
		case d.Cases[name]:
			with = append(with, document)
		case d.names(name):
			without = append(without, document)
		default:
			continue
		}
		if c.known || document == c.named {
			break // documents without such cases are skipped
		}
	}
	switch {
	case len(with) > 1 && c.named == "":
		c.complain("%s is a case of %s: write the document before it, as in spec/%s case %s", name, strings.Join(with, " and of "), with[0], name)
	case len(with) == 0 && len(without) > 0:
		c.complain("spec/%s has no case %s", without[0], name)
	}
}

func (c *checker) complain(format string, arguments ...any) {
	c.dangling = append(c.dangling, fmt.Sprintf("%s:%d: ", c.path, c.line)+fmt.Sprintf(format, arguments...))
}

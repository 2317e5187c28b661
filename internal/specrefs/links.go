package specrefs

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// Tree has the targets of links: each file and directory of the repository, relative to its root, with the
// anchors of pages.
type Tree map[string]map[string]bool

var (
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^()\s]*\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	anyHeading = regexp.MustCompile(`^#+ +(.*?)\s*$`)
)

// Anchors returns the anchors of the headings of a Markdown page.
func Anchors(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, line := range prose(text) {
		m := anyHeading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		anchor := slug(m[1])
		for n := 1; anchors[anchor]; n++ { // equal headings are numbered
			anchor = fmt.Sprintf("%s-%d", slug(m[1]), n)
		}
		anchors[anchor] = true
	}
	return anchors
}

// CheckLinks returns a sentence for each relative link in a page that leads to no file, or to no heading. The
// path of the page is relative to the root of the repository, with slashes.
func CheckLinks(tree Tree, page, text string) []string {
	var dangling []string
	complain := func(line int, format string, arguments ...any) {
		dangling = append(dangling, fmt.Sprintf("%s:%d: ", page, line)+fmt.Sprintf(format, arguments...))
	}
	for i, line := range prose(text) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "code"), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") { // has a scheme
				continue
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			anchors, exists := tree[file]
			switch {
			case !exists:
				complain(i+1, "there is no %s, which %s leads to", file, m[1])
			case anchor != "" && !anchors[anchor]:
				complain(i+1, "%s has no heading #%s", file, anchor)
			}
		}
	}
	return dangling
}

// prose returns the lines of a page, with those of code blocks empty.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimLeft(line, " "), "```")
		if fence || fenced {
			lines[i] = ""
		}
		if fence {
			fenced = !fenced
		}
	}
	return lines
}

// slug returns the anchor that GitHub gives to a heading.
func slug(heading string) string {
	heading = strings.ToLower(linkText.ReplaceAllString(heading, "$1"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
			return r
		}
		return -1
	}, heading)
}

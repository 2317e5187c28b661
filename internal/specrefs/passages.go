package specrefs

import (
	"go/scanner"
	"go/token"
	"path"
	"strings"
)

// A passage is text in which the document that was named last is meant.
type passage struct {
	text string
	// line is the number of its first line.
	line int
}

// passages splits the text of a file: Go code into comments and strings, because E1 has other meanings in
// code, and anything else into paragraphs.
func passages(file, text string) []passage {
	if path.Ext(file) == ".go" {
		return goPassages(text)
	}
	var all []passage
	markdown := path.Ext(file) == ".md"
	open := false
	line := 0
	for next := range strings.Lines(text) {
		line++
		blank := strings.TrimSpace(next) == ""
		if open && !blank && !(markdown && beginsPassage(next)) {
			all[len(all)-1].text += next
			continue
		}
		if open = !blank; open {
			all = append(all, passage{text: next, line: line})
		}
	}
	return all
}

// beginsPassage reports whether a line of Markdown is a row, an item or a heading, which start a passage of
// their own.
func beginsPassage(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, beginning := range []string{"|", "- ", "* ", "#"} {
		if strings.HasPrefix(line, beginning) {
			return true
		}
	}
	return numberedItem.MatchString(line)
}

// goPassages returns the comments and strings of a file. Comments on adjacent lines are one passage.
func goPassages(text string) []passage {
	var all []passage
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	adjacent := 0 // the line on which a comment continues the last passage
	for {
		pos, tok, literal := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.EOF:
			return all
		case tok == token.COMMENT && line == adjacent:
			all[len(all)-1].text += "\n" + withoutMarks(literal)
		case tok == token.COMMENT, tok == token.STRING:
			all = append(all, passage{text: withoutMarks(literal), line: line})
		}
		if tok == token.COMMENT {
			adjacent = line + strings.Count(literal, "\n") + 1
		}
	}
}

// withoutMarks blanks the comment marker, so that a citation may span two lines.
func withoutMarks(literal string) string {
	if rest, isComment := strings.CutPrefix(literal, "//"); isComment {
		return "  " + rest
	}
	return literal
}

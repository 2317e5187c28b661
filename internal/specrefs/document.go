package specrefs

import (
	"regexp"
	"strings"
)

// Document is the citable parts of a file in docs/spec.
type Document struct {
	// Name is the name of the file, such as "dns.md".
	Name string
	// Sections has the numbers of headings and of paragraphs that begin with one, and of numbered items and rows
	// of tables below headings: step 2 of spec/destination.md §8.4 is §8.4.2.
	Sections map[string]bool
	// Cases has the names of acceptance cases and quirks, such as "EP-17", or "41" for cases that are only
	// numbered.
	Cases map[string]bool
}

var (
	headingLine  = regexp.MustCompile(`^#+ +(?:Appendix +([A-Z])\b|((?:[0-9]+|[A-Z]\.[0-9]+)(?:\.[0-9]+)*)\.? )`)
	numberedItem = regexp.MustCompile(`^(?:([0-9]+)\. |\| ([0-9]+) \|)`)
	numberedText = regexp.MustCompile(`^([0-9]+\.[0-9]+) `)
	firstCell    = regexp.MustCompile(`^\| ([^|]+) \|`)
	cellName     = regexp.MustCompile(`^([A-Z]{1,2}-?[0-9]+)(?: ([a-z])–([a-z]))?$`)
)

// ReadDocument returns the citable parts of a file. Numbered items are cases if their heading mentions
// acceptance cases.
func ReadDocument(name, text string) Document {
	d := Document{Name: name, Sections: map[string]bool{}, Cases: map[string]bool{}}
	section, casesIn := "", ""
	for line := range strings.Lines(text) {
		if m := headingLine.FindStringSubmatch(line); m != nil {
			section = m[1] + m[2]
			d.Sections[section] = true
			if strings.Contains(line, "acceptance cases") {
				casesIn = section
			}
			continue
		}
		if m := numberedText.FindStringSubmatch(line); m != nil {
			d.Sections[m[1]] = true
		}
		if m := numberedItem.FindStringSubmatch(line); m != nil && section != "" {
			item := m[1] + m[2]
			d.Sections[section+"."+item] = true
			if casesIn != "" && (section == casesIn || strings.HasPrefix(section, casesIn+".")) {
				d.Cases[item] = true
			}
		}
		if m := firstCell.FindStringSubmatch(line); m != nil {
			d.addCases(m[1])
		}
	}
	return d
}

// addCases adds the names in the first cell of a row, if it has nothing else: "X1", "K8, K9", "**Q36**", or
// "EP-26 a–d", which stands for five names.
func (d Document) addCases(cell string) {
	var names []string
	for name := range strings.SplitSeq(strings.ReplaceAll(cell, "*", ""), ", ") {
		m := cellName.FindStringSubmatch(name)
		if m == nil {
			return
		}
		names = append(names, m[1])
		for letter := byte('a'); m[2] != "" && letter <= m[3][0]; letter++ {
			names = append(names, m[1]+string(letter))
		}
	}
	for _, name := range names {
		d.Cases[name] = true
	}
}

// names reports whether the document has cases of the same family: all numbers, or all that start with EP.
func (d Document) names(name string) bool {
	for known := range d.Cases {
		if family(known) == family(name) {
			return true
		}
	}
	return false
}

// family returns the part of a case's name before the number.
func family(name string) string {
	return name[:strings.IndexAny(name, "0123456789")]
}

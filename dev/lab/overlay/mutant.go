package overlay

import (
	_ "embed"
	"fmt"
	"strings"
)

// Mutant is a fault that is planted into Signpost, to see whether the lab finds it.
type Mutant struct {
	// Name is what it is called in commands and in a history.
	Name string
	// Fault is a sentence that says what the mutant does wrong.
	Fault string
	// Validator has to object to it: V1 to V10. Others may object, too.
	Validator string
	// Profile is the schedule under which it shows, such as mixed.
	Profile string
	// Test is one of Signpost's own tests that fails with the mutant, which shows that it is a fault:
	// the directory of the package, the name of the test, and flags for it.
	Test string
	// Edits plant the fault. None of them needs another one of the list.
	Edits []Edit
}

// mutantList has the mutants, in the format that its first lines describe.
//
//go:embed mutants.txt
var mutantList string

// Mutants returns all mutants, in the order of their validators.
func Mutants() []Mutant {
	var all []Mutant
	for line := range strings.Lines(mutantList) {
		switch {
		case line == "\n" || line[0] == '#':
		case strings.HasPrefix(line, "mutant: "):
			all = append(all, Mutant{Name: strings.TrimSpace(line[len("mutant: "):])})
		default:
			all[len(all)-1].read(line)
		}
	}
	return all
}

// read reads a line about a mutant. It panics if the line has another form.
func (m *Mutant) read(line string) {
	if file, ok := strings.CutPrefix(line, "@@ "); ok {
		m.Edits = append(m.Edits, Edit{File: strings.TrimSpace(file)})
		return
	}
	if mark := line[0]; mark == ' ' || mark == '-' || mark == '+' {
		e := &m.Edits[len(m.Edits)-1]
		if mark != '+' {
			e.Old += line[1:]
		}
		if mark != '-' {
			e.New += line[1:]
		}
		return
	}
	field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
	to, ok := map[string]*string{"fault": &m.Fault, "validator": &m.Validator, "profile": &m.Profile, "test": &m.Test}[field]
	if !ok {
		panic(fmt.Sprintf("mutants.txt: %s: unknown line %q", m.Name, line))
	}
	*to = value
}

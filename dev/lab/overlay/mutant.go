package overlay

import (
	"path"
	"slices"
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

// Packages returns the directories in which the mutant changes something, in the order of the alphabet.
func (m Mutant) Packages() []string {
	var packages []string
	for _, e := range m.Edits {
		packages = append(packages, path.Dir(e.File))
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// Mutants returns all mutants, in the order of their validators.
func Mutants() []Mutant {
	return slices.Concat(streamMutants, sliceMutants, recordMutants, kindMutants, leaderMutants, xdsMutants)
}

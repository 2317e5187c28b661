package walkthrough

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// event is a line of the output of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// checkTests returns an error if a run of go test -json failed, with its output and error, or ran no tests.
func checkTests(ended error, output []byte) error {
	passed := map[string]int{}
	var text strings.Builder
	for line := range strings.Lines(string(output)) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			text.WriteString(line) // go also prints lines that are no events.
			continue
		}
		text.WriteString(e.Output)
		if e.Package == "" {
			continue
		}
		passed[e.Package] += 0
		if e.Action == "pass" && e.Test != "" {
			passed[e.Package]++
		}
	}
	if ended != nil {
		return fmt.Errorf("%w; it said:\n%s", ended, text.String())
	}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(passed)) {
		if passed[path] == 0 {
			errs = append(errs, fmt.Errorf("no test of %s was run: correct the names, or leave the package out", path))
		}
	}
	if len(passed) == 0 {
		errs = append(errs, errors.New("no test was run: name a package that has some"))
	}
	return errors.Join(errs...)
}

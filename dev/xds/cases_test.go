package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	casesFile = "../../docs/xds/cases.md"
	caseCount = 64 // of docs/spec/xds.md §11
)

// caseRow is a row of the table of cases.
type caseRow struct {
	first, last         int
	tests, scenes, open string
}

// quoted finds what stands between backquotes.
var quoted = regexp.MustCompile("`([^`]+)`")

// caseRows reads the table of cases.
func caseRows(t *testing.T) (rows []caseRow) {
	t.Helper()
	text, err := os.ReadFile(casesFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 5 {
			continue
		}
		from, to, several := strings.Cut(strings.TrimPrefix(cells[0], "| "), " to ")
		r := caseRow{tests: cells[2], scenes: cells[3], open: strings.TrimSuffix(cells[4], " |")}
		if r.first, err = strconv.Atoi(from); err != nil {
			continue // the head of the table
		}
		if r.last = r.first; several {
			if r.last, err = strconv.Atoi(to); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// Each of the cases 1 to 64 has one row of the table, in order, with a test, a scene or what is open.
func TestTableOfCasesIsComplete(t *testing.T) {
	next := 1
	for _, r := range caseRows(t) {
		if r.first != next {
			t.Errorf("%s: case %d stands where case %d is expected", casesFile, r.first, next)
		}
		next = r.last + 1
		if r.tests == "–" && r.scenes == "–" && r.open == "–" {
			t.Errorf("%s: case %d has no test, no scene, and nothing that is open", casesFile, r.first)
		}
	}
	if next != caseCount+1 {
		t.Errorf("%s: the last case is %d, want %d", casesFile, next-1, caseCount)
	}
}

// The tests that the table of cases names (1 to 64) exist.
func TestTestsOfCasesExist(t *testing.T) {
	for _, r := range caseRows(t) {
		for _, match := range quoted.FindAllStringSubmatch(r.tests, -1) {
			dir, name, _ := strings.Cut(match[1], ".")
			if err := declares(filepath.Join("../..", dir), name); err != nil {
				t.Errorf("%s: case %d: %v", casesFile, r.first, err)
			}
		}
	}
}

// declares returns an error unless a test of a directory has this name.
func declares(dir, name string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return nil
		}
	}
	return fmt.Errorf("no test %s in %s", name, dir)
}

// The scenes that the table of cases names (1 to 64) exist, and the table names each scene.
func TestScenesOfCasesExist(t *testing.T) {
	var known, named []string
	for _, s := range scenes() {
		known = append(known, s.name)
	}
	for _, r := range caseRows(t) {
		for _, match := range quoted.FindAllStringSubmatch(r.scenes, -1) {
			if named = append(named, match[1]); !slices.Contains(known, match[1]) {
				t.Errorf("%s: case %d: no scene %s", casesFile, r.first, match[1])
			}
		}
	}
	for _, name := range known {
		if !slices.Contains(named, name) {
			t.Errorf("%s: no case names scene %s", casesFile, name)
		}
	}
}

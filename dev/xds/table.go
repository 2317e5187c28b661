package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// table has a row for each client and a column for each scene.
type table struct {
	clients []*client
	scenes  []scene
	cells   map[cellKey]string
	// details are lines below the table, problems are what makes the run fail.
	details, problems []string
}

type cellKey struct{ client, scene string }

// result is the outcome of a client in a scene.
type result struct {
	cell string
	// details are lines about it, problem is what is wrong, or empty.
	details []string
	problem string
}

func (t *table) add(c *client, s scene, r result) {
	t.cells[cellKey{c.name, s.name}] = r.cell
	for _, line := range r.details {
		t.details = append(t.details, fmt.Sprintf("%s, %s: %s", s.name, c.name, line))
	}
	if r.problem != "" {
		t.problems = append(t.problems, fmt.Sprintf("%s, %s: %s", s.name, c.name, r.problem))
	}
}

// fail adds what is wrong with a scene.
func (t *table) fail(s scene, problem string) { t.problems = append(t.problems, s.name+": "+problem) }

// print writes the table in Markdown, and what there is to say below it.
func (t *table) print(w io.Writer) {
	head := []string{"client"}
	for _, s := range t.scenes {
		head = append(head, s.name)
	}
	rows := [][]string{head}
	for _, c := range t.clients {
		row := []string{c.name}
		for _, s := range t.scenes {
			cell := t.cells[cellKey{c.name, s.name}]
			if cell == "" {
				cell = "–"
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	clienttest.PrintTable(w, rows)
	for _, c := range t.clients {
		if c.skipped != "" {
			fmt.Fprintf(w, "\nskipped: %s: %s\n", c.name, c.skipped)
		}
	}
	if len(t.details) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(t.details, "\n"))
	}
}

// failures is a cell such as "0 of 5,612 (longest 0.02 s)".
func failures(r caller.Reply) string {
	return fmt.Sprintf("%d of %s (longest %.2f s)", r.Failed, clienttest.Thousands(r.Calls), r.LongestMS/1000)
}

// errorsOf gives the errors of a reply as lines, sorted.
func errorsOf(r caller.Reply) (list []string) {
	for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
		list = append(list, fmt.Sprintf("%d × %s", r.Errors[text], text))
	}
	return list
}

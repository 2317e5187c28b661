package destclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// profileChanges describes the differences between two profiles.
func profileChanges(from, to profileText) []string {
	switch {
	case to.empty:
		return []string{string(changed) + " now empty"}
	case from.empty:
		return []string{string(changed) + " no longer empty"}
	}
	var changes []string
	for i, f := range to.fields {
		if old := from.fields[i].value; old != f.value {
			changes = append(changes, fmt.Sprintf("%s %s %s", changed, f.name, becomes(old, f.value)))
		}
	}
	for i, t := range to.tables {
		changes = append(changes, tableChanges(from.tables[i], t)...)
	}
	return changes
}

func becomes(from, to string) string {
	return cmp.Or(from, "none") + " -> " + cmp.Or(to, "none")
}

// tableChanges describes which rows were added, removed and changed. Rows are matched by key.
func tableChanges(from, to profileTable) []string {
	var changes []string
	old, new := from.keyed(), to.keyed()
	for _, k := range old.order {
		if new.rows[k] == nil {
			changes = append(changes, fmt.Sprintf("%s %s %s", removed, from.one, k.name))
		}
	}
	for _, k := range new.order {
		if old.rows[k] == nil {
			changes = append(changes, fmt.Sprintf("%s %s %s", added, to.one, k.name))
			continue
		}
		if cells := to.cellChanges(old.rows[k], new.rows[k]); len(cells) > 0 {
			changes = append(changes, fmt.Sprintf("%s %s %s: %s", changed, to.one, k.name, strings.Join(cells, ", ")))
		}
	}
	if !slices.Equal(inBoth(old, new), inBoth(new, old)) {
		changes = append(changes, fmt.Sprintf("%s order of %s", changed, to.many))
	}
	return changes
}

func (t profileTable) cellChanges(from, to []string) []string {
	var cells []string
	for i := range to {
		if from[i] != to[i] {
			cells = append(cells, strings.ToLower(t.header[i])+" "+becomes(from[i], to[i]))
		}
	}
	return cells
}

// rowKey identifies a row by its first cell, and by how many rows before it have the same one.
type rowKey struct {
	name   string
	before int
}

// keyedRows are the rows of a table by key.
type keyedRows struct {
	order []rowKey
	rows  map[rowKey][]string
}

func (t profileTable) keyed() keyedRows {
	k := keyedRows{rows: map[rowKey][]string{}}
	seen := map[string]int{}
	for _, row := range t.rows {
		key := rowKey{row[0], seen[row[0]]}
		seen[row[0]]++
		k.order = append(k.order, key)
		k.rows[key] = row
	}
	return k
}

// inBoth returns the keys of first that second also has, in order.
func inBoth(first, second keyedRows) []rowKey {
	return slices.DeleteFunc(slices.Clone(first.order), func(k rowKey) bool { return second.rows[k] == nil })
}

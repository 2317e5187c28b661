package destclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// profileChanges says what is different from one profile to the next.
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

// tableChanges says which rows came and went, and which cells of the others changed. Two rows
// are the same row if they have the same key.
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

// rowKey identifies a row: its first cell, and how many rows before it have the same one.
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

// inBoth returns the keys of first that second also has, in their order.
func inBoth(first, second keyedRows) []rowKey {
	return slices.DeleteFunc(slices.Clone(first.order), func(k rowKey) bool { return second.rows[k] == nil })
}

package output

import (
	"cmp"
	"strings"
	"text/tabwriter"
)

// maxCell limits a cell in characters; wide tables show longer ones.
const (
	maxCell     = 80
	maxWideCell = 500
)

// TableData is a table.
type TableData struct {
	Columns []Column
	// Rows have a cell for each column.
	Rows [][]string
}

// Column is a column of a table.
type Column struct {
	Name string
	// Wide is true if only wide tables have the column.
	Wide bool
	// Whole disables cutting, for cells that are sentences.
	Whole bool
}

// List returns a result with a row for each item of a list. row returns the name of an item, for
// the format name, and its cells. Columns are names between bars: a column that ends with + is for
// wide tables only, and the cells of a column that ends with … are not cut.
func List[T any](value any, list []T, columns string, row func(item T) (name string, cells []string)) Result {
	a := Result{Value: value, Items: make([]any, len(list))}
	for name := range strings.SplitSeq(columns, "|") {
		name, wide := strings.CutSuffix(name, "+")
		name, whole := strings.CutSuffix(name, "…")
		a.Table.Columns = append(a.Table.Columns, Column{Name: name, Wide: wide, Whole: whole})
	}
	for i, item := range list {
		name, cells := row(item)
		a.Items[i], a.Names, a.Table.Rows = item, append(a.Names, name), append(a.Table.Rows, cells)
	}
	return a
}

// render returns the text, which is empty for a table without rows.
func (t *TableData) render(wide bool) string {
	if len(t.Rows) == 0 {
		return ""
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(cell func(i int) string) {
		var cells []string
		for i, c := range t.Columns {
			if wide || !c.Wide {
				cells = append(cells, cell(i))
			}
		}
		_, _ = w.Write([]byte(strings.Join(cells, "\t") + "\n")) // a strings.Builder takes everything
	}
	line(func(i int) string { return t.Columns[i].Name })
	most := maxCell
	if wide {
		most = maxWideCell
	}
	for _, row := range t.Rows {
		line(func(i int) string {
			cell := Clean(row[i])
			if !t.Columns[i].Whole {
				cell = Cut(cell, most)
			}
			return cmp.Or(cell, "-")
		})
	}
	_ = w.Flush()
	return text.String()
}

// Cut truncates a text to a number of characters.
func Cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

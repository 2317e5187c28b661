package output

import (
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
	// Only says which tables have the column.
	Only Width
	// Whole disables cutting, for cells that are sentences.
	Whole bool
}

// Width says which tables have a column.
type Width int

const (
	// Always means every table, WideOnly only wide ones.
	Always Width = iota
	WideOnly
)

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
			if wide || c.Only == Always {
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
				cell = cut(cell, most)
			}
			if cell == "" {
				return "-"
			}
			return cell
		})
	}
	_ = w.Flush()
	return text.String()
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

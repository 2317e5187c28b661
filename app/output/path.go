package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// parsePath parses a JSONPath in kubectl's syntax. A single path needs no braces and no leading
// dot.
func parsePath(template string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(template, "{") {
		template = "{." + strings.TrimPrefix(template, ".") + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("can't be read as a JSONPath: %w", err)
	}
	return path, nil
}

func renderPath(template string, value any) ([]byte, error) {
	path, err := parsePath(template)
	if err != nil {
		return nil, err
	}
	plain, err := generic(value)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := path.Execute(&text, plain); err != nil {
		return nil, fmt.Errorf("print %q: %w", template, err)
	}
	return append(text.Bytes(), '\n'), nil
}

type column struct {
	header string
	path   *jsonpath.JSONPath
}

func parseColumns(template string) ([]column, error) {
	var all []column
	for part := range strings.SplitSeq(template, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, fmt.Errorf("%q is no HEADER:PATH", part)
		}
		parsed, err := parsePath(path)
		if err != nil {
			return nil, err
		}
		all = append(all, column{header, parsed})
	}
	return all, nil
}

func renderColumns(template string, r Result) ([]byte, error) {
	columns, err := parseColumns(template)
	if err != nil {
		return nil, err
	}
	items := r.Items
	if items == nil {
		items = []any{r.Value}
	}
	var table TableData
	for _, c := range columns {
		table.Columns = append(table.Columns, Column{Name: c.header, Whole: true})
	}
	for _, item := range items {
		plain, err := generic(item)
		if err != nil {
			return nil, err
		}
		row := make([]string, len(columns))
		for i, c := range columns {
			var cell bytes.Buffer
			if err := c.path.Execute(&cell, plain); err != nil {
				return nil, fmt.Errorf("print the column %s: %w", c.header, err)
			}
			if row[i] = cell.String(); row[i] == "" {
				row[i] = "<none>"
			}
		}
		table.Rows = append(table.Rows, row)
	}
	return []byte(table.render(false)), nil
}

// generic returns the JSON form of a value, whose field names paths use.
func generic(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write the output as JSON: %w", err)
	}
	var plain any
	// Integers must not become floats.
	if err := utiljson.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("read the output as JSON: %w", err)
	}
	return plain, nil
}

package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Formats of every command.
const (
	Table = "table"
	Wide  = "wide"
	JSON  = "json"
	YAML  = "yaml"
	Name  = "name"
	// JSONPath and Columns are followed by an equals sign and a template.
	JSONPath = "jsonpath"
	Columns  = "custom-columns"
)

// Format is the value of the flag --output. The zero value is a table.
type Format struct {
	// Kind is a format, and Template the text after its equals sign.
	Kind, Template string
	allowed        []string
}

// AddFlag adds the flag --output (-o). more are additional formats of this command.
func (f *Format) AddFlag(cmd *cobra.Command, more ...string) {
	f.allowed = append([]string{Table, Wide, JSON, YAML, Name}, more...)
	all := strings.Join(slices.Concat(f.allowed, []string{JSONPath + "=TEMPLATE", Columns + "=HEADER:PATH,…"}), ", ")
	cmd.Flags().VarP(f, "output", "o", "`format`: "+all)
	values := slices.Concat(f.allowed, []string{JSONPath + "=", Columns + "="})
	// It only fails for a flag that doesn't exist.
	_ = cmd.RegisterFlagCompletionFunc("output", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		offered := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, begun) })
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

var _ pflag.Value = &Format{}

// String implements pflag.Value.
func (f *Format) String() string {
	switch {
	case f.Kind == "":
		return Table
	case f.Template != "":
		return f.Kind + "=" + f.Template
	default:
		return f.Kind
	}
}

// Type implements pflag.Value.
func (f *Format) Type() string { return "string" }

// Set implements pflag.Value. It refuses invalid templates.
func (f *Format) Set(text string) error {
	kind, template, with := strings.Cut(text, "=")
	switch {
	case slices.Contains(f.allowed, text):
		f.Kind, f.Template = text, ""
		return nil
	case kind != JSONPath && kind != Columns:
		return fmt.Errorf("must be one of %s, %s=TEMPLATE, %s=HEADER:PATH,…", strings.Join(f.allowed, ", "), JSONPath, Columns)
	case !with || template == "":
		return fmt.Errorf("the template is missing, as in -o %s", example(kind))
	case kind == JSONPath:
		if _, err := parsePath(template); err != nil {
			return err
		}
	default:
		if _, err := parseColumns(template); err != nil {
			return err
		}
	}
	f.Kind, f.Template = kind, template
	return nil
}

func example(kind string) string {
	if kind == JSONPath {
		return "jsonpath='{.items[*].name}'"
	}
	return "custom-columns=NAME:.name,STATE:.state"
}

// IsTable reports whether the format is a table.
func (f *Format) IsTable() bool { return f.Kind == "" || f.Kind == Table || f.Kind == Wide }

// Result is the output of a command.
type Result struct {
	// Value is printed as JSON or YAML. It may be JSON itself, as a [json.RawMessage].
	Value any
	// Items are the rows of custom columns; nil means Value as the only row.
	Items []any
	// Names are printed by the format name.
	Names []string
	// Table is printed by default. Text replaces a table without rows, and follows one with rows.
	Table TableData
	Text  string
}

// Print prints a result in a format.
func Print(w io.Writer, f Format, r Result) error {
	text, err := render(f, r)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// PrintNext prints a result that others may follow: JSON as a line, YAML as a document of its own.
func PrintNext(w io.Writer, f Format, r Result) error {
	switch f.Kind {
	case JSON:
		return json.NewEncoder(w).Encode(r.Value)
	case YAML:
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
	}
	return Print(w, f, r)
}

func render(f Format, r Result) ([]byte, error) {
	switch f.Kind {
	case JSON:
		return asJSON(r.Value)
	case YAML:
		text, err := asJSON(r.Value)
		if err != nil {
			return nil, err
		}
		// The escapes are equivalent, and YAML refuses some characters without them.
		return yaml.JSONToYAML(escaped(text))
	case Name:
		var text strings.Builder
		for _, name := range r.Names {
			text.WriteString(Clean(name) + "\n")
		}
		return []byte(text.String()), nil
	case JSONPath:
		return renderPath(f.Template, r.Value)
	case Columns:
		return renderColumns(f.Template, r)
	default:
		return []byte(r.Table.render(f.Kind == Wide) + r.Text), nil
	}
}

func asJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("write the output as JSON: %w", err)
	}
	return text.Bytes(), nil
}

package settings

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/internal/golden"
)

// TestReferenceOfConfig compares the table of fields in docs/config.md with the settings; -update
// rewrites it. What is above it is by hand.
func TestReferenceOfConfig(t *testing.T) {
	t.Parallel()
	const file, begin = "../../docs/config.md", "\n## Fields\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	above, _, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no %q", file, begin)
	}
	golden.File(t, file, above+begin+fieldsTable())
}

// kindsOfValues say what a value has to be, by the types of settings.
var kindsOfValues = map[string]string{
	"bool": "true or false", "int": "whole number", "float": "number", "duration": "duration, such as 1m30s", "strings": "list of names", "string": "string", "publishers": "list",
}

func fieldsTable() string {
	var b strings.Builder
	b.WriteString("\n| Field | Value | Default | Meaning |\n| --- | --- | --- | --- |\n")
	c := Default()
	for _, part := range []Section{&c.Process, &c.Destination, &c.Controllers, &c.DNS, &c.XDS} {
		paths := map[string]string{}
		for _, s := range part.Settings() {
			paths[s.Flag] = s.Path
		}
		for _, s := range part.Settings() {
			_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: s.Usage, Value: s.Value})
			value := kindsOfValues[s.Value.Type()]
			switch s.Value.(type) {
			case jsonValue:
				value = "mapping"
			case portsValue:
				value = "list of ports and ranges, or a string"
			}
			def := "`" + s.Value.String() + "`"
			if s.Value.String() == "" || s.Value.Type() == "publishers" {
				def = ""
			}
			// Settings of the same section are fields here.
			usage = mention.ReplaceAllStringFunc(usage, func(flag string) string {
				if path := paths[strings.TrimPrefix(flag, "--")]; path != "" {
					return "`" + path + "`"
				}
				return flag
			})
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Path, value, def, strings.ReplaceAll(usage, "|", "\\|"))
		}
	}
	return b.String()
}

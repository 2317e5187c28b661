package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/internal/golden"
)

// compiled returns the schema of config files, which has to be one itself.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaID, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validates returns what is wrong with a text by the schema.
func validates(schema *jsonschema.Schema, text []byte) error {
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return err
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

// beyondSchema are the bad files with which only something is wrong that no schema says, such as what
// depends on several fields, or on what isn't in the file.
var beyondSchema = []string{
	"authfields.bad.yaml", "conflicts.bad.yaml", "documents.bad.yaml", "ipv6.bad.yaml", "ipv6both.bad.yaml", "nocontrollers.bad.yaml",
	"params.bad.yaml", "records.bad.yaml", "rivals.bad.yaml", "secretfile.bad.yaml", "variables.bad.yaml",
}

// What Decode takes is valid by the schema. What it refuses isn't, unless the schema can't say so.
func TestSchemaAgreesWithDecode(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	files, err := filepath.Glob("testdata/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		err = validates(schema, text)
		switch good := strings.HasSuffix(name, ".good.yaml"); {
		case good && err != nil:
			t.Errorf("%s is good, but the schema says: %v", name, err)
		case !good && (err == nil) != slices.Contains(beyondSchema, name):
			t.Errorf("%s is bad; the schema says %v; beyond it: %v", name, err, slices.Contains(beyondSchema, name))
		}
	}
}

// snippet matches a config file in a page.
var snippet = regexp.MustCompile("(?s)```yaml\n((?:#[^\n]*\n)?apiVersion: signpost\\.dev/.*?)```")

// The examples in the docs are good: by the schema, and by Decode.
func TestExamplesOfTheDocs(t *testing.T) {
	t.Setenv("TSIG_SECRET", "c2VjcmV0")
	schema := compiled(t)
	var pages []string
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	examples := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range snippet.FindAllSubmatch(text, -1) {
			examples++
			if err := validates(schema, m[1]); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			}
			if _, err := Decode(page, m[1], References{}); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if examples < 3 {
		t.Errorf("found %d examples, which can't be all", examples)
	}
}

// The schema in docs is what `signpost config schema` prints; -update rewrites it.
func TestSchemaOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../docs/config.schema.json", string(text))
}

// A config that is printed is read as the same config, and is printed as the same text.
func TestPrint(t *testing.T) {
	for name, value := range map[string]string{"LEVEL": "debug", "NUMBER": "7", "SECRET": "c2VjcmV0"} {
		t.Setenv("SIGNPOST_TEST_"+name, value)
	}
	schema := compiled(t)
	files, err := filepath.Glob("testdata/config/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Decode(file, text, References{})
		if err != nil {
			t.Fatal(err)
		}
		printed, err := Print(c)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(printed, "c2VjcmV0") || strings.Contains(printed, "secret-of-the-file") {
			t.Errorf("%s: a secret is shown:\n%s", file, printed)
		}
		if err := validates(schema, []byte(printed)); err != nil {
			t.Errorf("%s: %v in\n%s", file, err, printed)
		}
		if strings.Contains(printed, "-file:") {
			continue // the secret is there twice
		}
		if diff := cmp.Diff(withoutRemarks(string(text)), withoutRemarks(printed)); diff != "" {
			t.Errorf("%s, printed (-want +got):\n%s\n%s", file, diff, printed)
		}
		again, err := Decode(file, []byte(printed), References{})
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := Print(again); twice != printed {
			t.Errorf("%s, printed twice (-first +second):\n%s", file, cmp.Diff(printed, twice))
		}
	}
}

// withoutRemarks describes a config without remarks, of which some are about settings that are left out.
func withoutRemarks(source string) string {
	var text string
	for line := range strings.Lines(describeConfig(source)) {
		if !strings.HasPrefix(line, "remark: ") {
			text += line
		}
	}
	return text
}

package output_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/app/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pet struct {
	Name string   `json:"name"`
	Age  int      `json:"age"`
	Toys []string `json:"toys,omitempty"`
}

func result() output.Result {
	pets := []pet{{"Rex", 3, []string{"ball", "<bone>"}}, {"Ada\x1b[31m\nB", 1234567890, nil}}
	return output.Result{
		Value: map[string]any{"items": pets}, Items: []any{pets[0], pets[1]}, Names: []string{"pet/Rex", "pet/Ada"}, Text: "Two pets.\n",
		Table: output.TableData{
			Columns: []output.Column{{Name: "NAME"}, {Name: "AGE", Wide: true}, {Name: "NOTE"}},
			Rows:    [][]string{{"Rex", "3", ""}, {"Ada\x1b[31m\nB\u202e", "1234567890", strings.Repeat("ä", 90)}},
		},
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 79) + "…"
	for format, want := range map[string]string{
		"table": "NAME                   NOTE\nRex                    -\nAda\\u001b[31m B\\u202e  " + long + "\nTwo pets.\n",
		"wide":  "NAME                   AGE         NOTE\nRex                    3           -\nAda\\u001b[31m B\\u202e  1234567890  " + strings.Repeat("ä", 90) + "\nTwo pets.\n",
		"name":  "pet/Rex\npet/Ada\n",
		"yaml":  "items:\n- age: 3\n  name: Rex\n  toys:\n  - ball\n  - <bone>\n- age: 1234567890\n  name: \"Ada\\e[31m\\nB\"\n",
		"json": `{
  "items": [
    {
      "name": "Rex",
      "age": 3,
      "toys": [
        "ball",
        "<bone>"
      ]
    },
    {
      "name": "Ada\u001b[31m\nB",
      "age": 1234567890
    }
  ]
}
`,
		"jsonpath={.items[*].age}":                     "3 1234567890\n",
		"jsonpath=items[0].toys[1]":                    "<bone>\n",
		"jsonpath=.items[5].name":                      "",
		"jsonpath={.items[?(@.age>5)].age}":            "1234567890\n",
		"jsonpath={.nothing}":                          "\n",
		"custom-columns=WHO:.name,TOY:.toys[0],A:.age": "WHO              TOY     A\nRex              ball    3\nAda\\u001b[31m B  <none>  1234567890\n",
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			f, err := parse(format)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = output.Print(&out, f, result())
			if want == "" {
				if err == nil {
					t.Errorf("no error, but %s", &out)
				}
			} else if err != nil || out.String() != want {
				t.Errorf("%v, got:\n%q\nwant:\n%q", err, &out, want)
			}
		})
	}
}

func parse(format string) (output.Format, error) {
	var f output.Format
	cmd := &cobra.Command{}
	f.AddFlag(cmd, "zone")
	return f, cmd.ParseFlags([]string{"-o", format})
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"zone": "", "jsonpath": "the template is missing", "custom-columns=": "the template is missing", "custom-columns=A": `"A" is no HEADER:PATH`,
		"jsonpath={.a": "JSONPath", "xml": "must be one of table, wide, json, yaml, name, zone, jsonpath=TEMPLATE", "custom-columns=A:{.b": "JSONPath",
	} {
		f, err := parse(format)
		if want == "" {
			if err != nil || f.String() != format {
				t.Errorf("%s: %v, %s", format, err, &f)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", format, err, want)
		}
	}
	if f, err := parse("jsonpath={.a}"); err != nil || f.String() != "jsonpath={.a}" || f.IsTable() {
		t.Errorf("%v, %s", err, &f)
	}
}

// JSON that is given as it is stays in its order.
func TestRawJSON(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	f, _ := parse("json")
	if err := output.Print(&out, f, output.Result{Value: json.RawMessage(`{"b":1,"a":2}`)}); err != nil || out.String() != "{\n  \"b\": 1,\n  \"a\": 2\n}\n" {
		t.Errorf("%v, %s", err, &out)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	if err := output.Print(full{}, output.Format{}, result()); err == nil || err.Error() != "write the output: disk full" {
		t.Errorf("got %v", err)
	}
}

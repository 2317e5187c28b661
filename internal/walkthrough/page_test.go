package walkthrough

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page joins lines; "~" stands for the mark around blocks, as Go can't quote that.
func page(lines ...string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n"), "~", "`")
}

func TestParse(t *testing.T) {
	got, err := Parse("p.md", page(
		"# Title", "~~~", "prose", "~~~",
		"~~~go file=a/b.go", "package a", "~~~",
		"~~~~yaml file=c.yaml as-is", "```", "x", "~~~~",
		"~~~diff file=d.md", " x", "+y", "~~~", "  ~~~ sh", "  make all", "  ~~~",
		"~~~sh run", "# a comment", "", "go test ./dns -run '^TestA$' -v", "go vet ./dns ''", "~~~",
	))
	if err != nil {
		t.Fatal(err)
	}
	want := Page{Name: "p.md", Steps: []Step{
		{Line: 5, Kind: New, Path: "a/b.go", Lines: []string{"package a"}},
		{Line: 8, Kind: AsIs, Path: "c.yaml", Lines: []string{"```", "x"}},
		{Line: 12, Kind: Edit, Path: "d.md", Lines: []string{" x", "+y"}},
		{
			Line: 19, Kind: Run, Lines: []string{"# a comment", "", "go test ./dns -run '^TestA$' -v", "go vet ./dns ''"},
			Commands: []Command{
				{Line: 22, Words: []string{"go", "test", "./dns", "-run", "^TestA$", "-v"}},
				{Line: 23, Words: []string{"go", "vet", "./dns", ""}},
			},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]struct {
		lines []string
		want  []string // parts of the error
	}{
		"no end":            {[]string{"", "~~~go file=a.go", "package a"}, []string{"p.md:2: ", "no end"}},
		"shorter end":       {[]string{"~~~~go file=a.go", "package a", "~~~"}, []string{"p.md:1: ", "no end"}},
		"Go in prose":       {[]string{"~~~go", "x := 1", "~~~"}, []string{"p.md:1: ", "file=PATH"}},
		"edit of nothing":   {[]string{"~~~diff", "+x", "~~~"}, []string{"p.md:1: ", "file=PATH"}},
		"unknown word":      {[]string{"~~~go fil=a.go", "package a", "~~~"}, []string{"p.md:1: ", `unknown info string "go fil=a.go"`}},
		"unknown property":  {[]string{"~~~go file=a.go asis", "package a", "~~~"}, []string{"unknown info string"}},
		"too many words":    {[]string{"~~~go file=a.go as-is x", "package a", "~~~"}, []string{"unknown info string"}},
		"edit as is":        {[]string{"~~~diff file=a.go as-is", " x", "~~~"}, []string{"unknown info string"}},
		"run what isn't sh": {[]string{"~~~go run", "go test ./dns", "~~~"}, []string{"unknown info string"}},
		"outside":           {[]string{"~~~text file=../a", "x", "~~~"}, []string{"p.md:1: ", `"../a" leads out of the tree`}},
		"outside, hidden":   {[]string{"~~~text file=a/../../b", "x", "~~~"}, []string{"leads out of the tree"}},
		"absolute":          {[]string{"~~~text file=/etc/a", "x", "~~~"}, []string{"leads out of the tree"}},
		"detour":            {[]string{"~~~text file=a/./b", "x", "~~~"}, []string{"takes detours"}},
		"no path":           {[]string{"~~~text file=", "x", "~~~"}, []string{"leads out of the tree"}},
		"the root":          {[]string{"~~~text file=.", "x", "~~~"}, []string{"leads out of the tree"}},
		"indented":          {[]string{"- item", "  ~~~text file=a", "  x", "  ~~~"}, []string{"p.md:2: ", "indented"}},
		"no Go":             {[]string{"~~~go file=a.go", "func (", "~~~"}, []string{"p.md:1: ", "read a.go as Go"}},
		"not formatted":     {[]string{"~~~go file=a.go", "package a", "var  x int", "~~~"}, []string{"not formatted"}},
		"no command":        {[]string{"~~~sh run", "# nothing", "~~~"}, []string{"p.md:1: ", "no command"}},
		"other program":     {[]string{"~~~sh run", "make all", "~~~"}, []string{`command "make all"`, "without the word run"}},
		"other subcommand":  {[]string{"~~~sh run", "go mod tidy", "~~~"}, []string{"only go build, go generate, go run, go test, go vet"}},
		"just go":           {[]string{"~~~sh run", "go", "~~~"}, []string{"only go build"}},
		"shell":             {[]string{"~~~sh run", "go test ./dns | tail", "~~~"}, []string{`'|' means something to a shell`}},
		"variable":          {[]string{"~~~sh run", "go test ./dns -run ^A$", "~~~"}, []string{`'$' means something to a shell`}},
		"open quote":        {[]string{"~~~sh run", "go test 'a", "~~~"}, []string{"single quote is missing"}},
		"all of them":       {[]string{"~~~go", "~~~", "~~~sh run", "rm x", "cp y z", "~~~"}, []string{"p.md:1: ", "p.md:3: ", "rm x", "cp y z"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("p.md", page(tt.lines...))
			checkError(t, err, tt.want...)
		})
	}
}

func checkError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v; want one with %q", err, part)
		}
	}
}

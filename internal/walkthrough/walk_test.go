package walkthrough

import (
	"errors"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var tree = fstest.MapFS{
	"a.txt":     {Data: []byte("one\ntwo\n\nthree\ntwo\n")},
	"open.txt":  {Data: []byte("one")},
	"dir/a.txt": {Data: []byte("one\n")},
	"long.txt":  {Data: []byte("first line\nsecond line\nsecond … line\n")},
	"a.go":      {Data: []byte("package a\n\nvar x int\n")},
}

func TestWalk(t *testing.T) {
	p, err := Parse("p.md", page(
		"~~~text file=dir/new.txt", "first", "~~~",
		"~~~text file=dir/a.txt as-is", "one", "~~~",
		"~~~sh run", "go vet ./a", "~~~",
		"~~~diff file=a.txt", "@@ the first place @@", " one", "+and a half", " two", "", "@@", " three", "-two", "~~~",
		"~~~diff file=dir/new.txt", "+zeroth", " first", "~~~",
		"~~~diff file=a.txt", " three", "~~~",
		"~~~diff file=long.txt", " first…", "+new", "-second l…", " second … line", "~~~",
		"~~~sh run", "go vet ./b", "~~~",
	))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]Files{}
	if err := p.Walk(tree, func(c Command, f Files) error { seen[c.Words[2]] = maps.Clone(f); return nil }); err != nil {
		t.Fatal(err)
	}
	want := map[string]Files{
		"./a": {"dir/new.txt": "first\n"},
		"./b": {"dir/new.txt": "zeroth\nfirst\n", "a.txt": "one\nand a half\ntwo\n\nthree\n", "long.txt": "first line\nnew\nsecond … line\n"},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("files that commands see (-want +got):\n%s", diff)
	}
}

func TestWalkErrors(t *testing.T) {
	tests := map[string]struct {
		lines []string
		want  []string // parts of the error
	}{
		"exists":            {[]string{"", "~~~text file=a.txt", "x", "~~~"}, []string{"p.md:2: ", "a.txt is there already"}},
		"made twice":        {[]string{"~~~text file=b", "x", "~~~", "~~~text file=b", "x", "~~~"}, []string{"p.md:4: ", "b is there already"}},
		"a directory":       {[]string{"~~~text file=dir", "x", "~~~"}, []string{"read dir"}},
		"nothing to edit":   {[]string{"~~~diff file=b.txt", " x", "~~~"}, []string{"b.txt is not there"}},
		"nothing to show":   {[]string{"~~~text file=b.txt as-is", "x", "~~~"}, []string{"b.txt is not there"}},
		"shown wrongly":     {[]string{"~~~text file=a.txt as-is", "one", "2", "~~~"}, []string{"line 2 of a.txt is another one"}},
		"shown in part":     {[]string{"~~~text file=a.txt as-is", "one", "two", "~~~"}, []string{"line 3 of a.txt is another one"}},
		"no newline":        {[]string{"~~~text file=open.txt as-is", "one", "~~~"}, []string{"end with a newline"}},
		"context not found": {[]string{"~~~diff file=a.txt", " one", "+x", " three", "~~~"}, []string{"p.md:1: edit a.txt", `"one" are not there`}},
		"removal not found": {[]string{"~~~diff file=a.txt", "-four", "~~~"}, []string{`"four" are not there`}},
		"behind the end":    {[]string{"~~~diff file=dir/a.txt", " one", " two", "~~~"}, []string{`"one" are not there`}},
		"found twice":       {[]string{"~~~diff file=a.txt", " two", "+x", "~~~"}, []string{`"two" are there 2 times`}},
		"beginning twice":   {[]string{"~~~diff file=long.txt", " second…", "~~~"}, []string{`"second…" are there 2 times`}},
		"second hunk":       {[]string{"~~~diff file=a.txt", " one", "@@", " four", "~~~"}, []string{`"four" are not there`}},
		"nowhere":           {[]string{"~~~diff file=a.txt", "+x", "~~~"}, []string{`where "+x" belongs`}},
		"no edit":           {[]string{"~~~diff file=a.txt", "one", "~~~"}, []string{`"one" is no line of an edit`}},
		"edit breaks Go":    {[]string{"~~~diff file=a.go", "-var x int", "+var x  int", "~~~"}, []string{"a.go is not formatted"}},
		"command":           {[]string{"~~~sh run", "", "go vet ./fails x", "~~~"}, []string{"p.md:3: go vet ./fails x: it failed"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("p.md", page(tt.lines...))
			if err != nil {
				t.Fatal(err)
			}
			err = p.Walk(tree, func(Command, Files) error { return errors.New("it failed") })
			checkError(t, err, tt.want...)
		})
	}
}

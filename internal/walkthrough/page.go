package walkthrough

import (
	"errors"
	"fmt"
	"go/format"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is a page of Markdown: what its blocks do, in their order.
type Page struct {
	// Name is what errors call it.
	Name  string
	Steps []Step
}

// Step is what one block of a page does: it says something of a file, or it has commands.
type Step struct {
	// Line is where the block begins.
	Line int
	Kind Kind
	// Path is that of the file, relative to the root of the repository, with slashes.
	Path string
	// Lines are those of the block.
	Lines []string
	// Commands are those of a block of the kind [Run].
	Commands []Command
}

// Kind is what a block is for.
type Kind int

const (
	// New is a file that isn't there yet.
	New Kind = iota + 1
	// AsIs is a file that is there, without a difference.
	AsIs
	// Edit changes a file.
	Edit
	// Run has commands.
	Run
)

// Command is one line of a block of the kind [Run].
type Command struct {
	Line int
	// Words are those of the line; the first one is "go".
	Words []string
}

// languages are those that a block may be in which is prose.
var languages = []string{"", "json", "markdown", "sh", "text", "txtar", "yaml"}

var fence = regexp.MustCompile("^( *)(```+)(.*)$")

// Parse reads a page. The error has everything that is wrong with its blocks.
func Parse(name, text string) (Page, error) {
	page := Page{Name: name}
	var errs []error
	complain := func(line int, err error) { errs = append(errs, fmt.Errorf("%s:%d: %w", name, line, err)) }
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		open := fence.FindStringSubmatch(lines[i])
		if open == nil {
			continue
		}
		indent, marks, info, line := open[1], open[2], open[3], i+1
		length := slices.IndexFunc(lines[line:], func(l string) bool {
			l = strings.TrimSpace(l)
			return len(l) >= len(marks) && strings.Trim(l, "`") == ""
		})
		if length < 0 {
			complain(line, errors.New("the block has no end: close it with the marks that open it"))
			break
		}
		step, err := parseBlock(info, lines[line:line+length], line)
		if err == nil && step.Kind != 0 && indent != "" {
			err = errors.New("the block is indented: begin it at the margin, as its lines are taken as they are")
		}
		if err != nil {
			complain(line, err)
		} else if step.Kind != 0 {
			page.Steps = append(page.Steps, step)
		}
		i += length + 1
	}
	return page, errors.Join(errs...)
}

// parseBlock returns what a block does that begins at a line; a step of no kind is prose.
func parseBlock(info string, lines []string, line int) (Step, error) {
	step := Step{Line: line, Lines: lines}
	language, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
	words := strings.Fields(rest)
	if len(words) == 0 {
		if !slices.Contains(languages, language) {
			return Step{}, fmt.Errorf("a block of %s says nothing of a file: add file=PATH, so that it is checked", language)
		}
		return Step{}, nil
	}
	path, hasPath := strings.CutPrefix(words[0], "file=")
	switch {
	case slices.Equal(words, []string{"run"}) && language == "sh":
		return parseCommands(step)
	case !hasPath, len(words) > 2, len(words) == 2 && (words[1] != "as-is" || language == "diff"):
		return Step{}, fmt.Errorf("unknown info string %q: use LANGUAGE file=PATH, LANGUAGE file=PATH as-is, diff file=PATH, or sh run", strings.TrimSpace(info))
	case len(words) == 2:
		step.Kind = AsIs
	case language == "diff":
		step.Kind = Edit
	default:
		step.Kind = New
	}
	step.Path = path
	return step, step.check()
}

// check says what is wrong with a step about a file, whatever is in the tree.
func (s Step) check() error {
	clean := filepath.ToSlash(filepath.Clean(filepath.FromSlash(s.Path)))
	if s.Path != clean || !filepath.IsLocal(filepath.FromSlash(s.Path)) || s.Path == "." {
		return fmt.Errorf("the path %q leads out of the tree or takes detours: write it relative to the root of the repository", s.Path)
	}
	if s.Kind == New {
		return checkFormat(s.Path, s.text())
	}
	return nil
}

// text returns the file that a block is.
func (s Step) text() string { return strings.Join(s.Lines, "\n") + "\n" }

// checkFormat says whether a file of Go is not as gofmt has it.
func checkFormat(path, text string) error {
	if !strings.HasSuffix(path, ".go") {
		return nil
	}
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return fmt.Errorf("read %s as Go: %w", path, err)
	}
	if string(formatted) != text {
		return fmt.Errorf("%s is not formatted: put into the page what gofmt makes of it", path)
	}
	return nil
}

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

// Page is a page of Markdown: the steps of its blocks, in order.
type Page struct {
	// Name names the page in errors.
	Name  string
	Steps []Step
}

// Step is the action of one block of a page: it describes a file, or has commands.
type Step struct {
	// Line is the first line of the block.
	Line int
	Kind Kind
	// Path is the path of the file, relative to the root of the repository, with slashes.
	Path string
	// Lines are the lines of the block.
	Lines []string
	// Commands are the commands of a block of kind [Run].
	Commands []Command
}

// Kind is the kind of a block.
type Kind int

const (
	// New: a file that doesn't exist yet.
	New Kind = iota + 1
	// AsIs: an existing file, quoted in full.
	AsIs
	// Edit: a change of a file.
	Edit
	// Run: commands.
	Run
)

// Command is one line of a block of kind [Run].
type Command struct {
	Line int
	// Words are the words of the line; the first one is "go".
	Words []string
}

// languages are the languages of blocks that may be prose.
var languages = []string{"", "json", "markdown", "sh", "text", "txtar", "yaml"}

var fence = regexp.MustCompile("^( *)(```+)(.*)$")

// Parse parses a page. The error lists everything that is wrong with its blocks.
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

// parseBlock returns the step of a block that starts at a line; a step without a kind is prose.
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

// check checks a step about a file, independent of the tree.
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

// text returns the file that a block shows.
func (s Step) text() string { return strings.Join(s.Lines, "\n") + "\n" }

// checkFormat returns an error if a Go file isn't formatted with gofmt.
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

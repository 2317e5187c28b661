package walkthrough

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Files are the files that a page has added or changed, by path relative to the root of the repository.
type Files map[string]string

// Walk carries out the steps of the page. It reads the files of the tree, and calls run with each command and
// all files that the page has made above it. It stops at the first error.
func (p Page) Walk(tree fs.FS, run func(Command, Files) error) error {
	files := Files{}
	for _, step := range p.Steps {
		if err := files.apply(tree, step); err != nil {
			return fmt.Errorf("%s:%d: %w", p.Name, step.Line, err)
		}
		for _, command := range step.Commands {
			if err := run(command, files); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", p.Name, command.Line, strings.Join(command.Words, " "), err)
			}
		}
	}
	return nil
}

// apply applies a step about a file.
func (f Files) apply(tree fs.FS, step Step) error {
	if step.Kind == Run {
		return nil
	}
	old, exists, err := f.read(tree, step.Path)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", step.Path, err)
	case step.Kind == New && exists:
		return fmt.Errorf("%s is there already: edit it with a block diff, or add as-is if this is what it is like", step.Path)
	case step.Kind == New:
		f[step.Path] = step.text()
		return nil
	case !exists:
		return fmt.Errorf("%s is not there: correct the path, or make the file in a block above", step.Path)
	case step.Kind == AsIs:
		return compare(step, old)
	}
	edited, err := edit(old, step.Lines)
	if err != nil {
		return fmt.Errorf("edit %s: %w", step.Path, err)
	}
	f[step.Path] = edited
	return checkFormat(step.Path, edited)
}

func (f Files) read(tree fs.FS, path string) (text string, exists bool, err error) {
	if text, exists := f[path]; exists {
		return text, true, nil
	}
	data, err := fs.ReadFile(tree, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(data), err == nil, err
}

// compare returns an error with the first difference between a block and the file that it quotes.
func compare(step Step, text string) error {
	if step.text() == text {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range max(len(lines), len(step.Lines)) {
		if i >= len(lines) || i >= len(step.Lines) || lines[i] != step.Lines[i] {
			return fmt.Errorf("line %d of %s is another one than here: copy the file into the page", i+1, step.Path)
		}
	}
	return fmt.Errorf("%s doesn't end with a newline: add one", step.Path)
}

// edit applies the changes of a block to a text.
func edit(text string, block []string) (string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for len(block) > 0 {
		hunk := block
		if end := slices.IndexFunc(block, func(l string) bool { return strings.HasPrefix(l, "@@") }); end >= 0 {
			hunk, block = block[:end], block[end+1:]
		} else {
			block = nil
		}
		if len(hunk) == 0 {
			continue // The first line is "@@".
		}
		var err error
		if lines, err = change(lines, hunk); err != nil {
			return "", err
		}
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// change applies a hunk at the only place where it matches.
func change(lines, hunk []string) ([]string, error) {
	var before []string
	for _, line := range hunk {
		if line != "" && !strings.ContainsAny(line[:1], " +-") {
			return nil, fmt.Errorf("the line %q is no line of an edit: begin it with a space, + or -", line)
		}
		if !strings.HasPrefix(line, "+") {
			before = append(before, line[min(1, len(line)):]) // Editors strip the space of an empty line.
		}
	}
	if len(before) == 0 {
		return nil, fmt.Errorf("nothing says where %q belongs: add the line before it or after it, with a space in front", hunk[0])
	}
	var places []int
	for at := range len(lines) - len(before) + 1 {
		if slices.EqualFunc(before, lines[at:at+len(before)], fits) {
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("the lines that begin with %q are not there: correct those of the page that begin with a space or with -", before[0])
	}
	if len(places) > 1 {
		return nil, fmt.Errorf("the lines that begin with %q are there %d times: add more of those around them", before[0], len(places))
	}
	after, at := lines[:places[0]:places[0]], places[0]
	for _, line := range hunk {
		if strings.HasPrefix(line, "+") {
			after = append(after, line[1:])
			continue
		}
		if !strings.HasPrefix(line, "-") {
			after = append(after, lines[at])
		}
		at++
	}
	return append(after, lines[at:]...), nil
}

// fits reports whether a line of an edit matches a line of the file.
func fits(edit, line string) bool {
	beginning, cut := strings.CutSuffix(edit, "…")
	return edit == line || cut && strings.HasPrefix(line, beginning)
}

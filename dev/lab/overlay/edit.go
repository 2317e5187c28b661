package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Edit is a change of one source file, as it is compiled; the file itself stays as it is.
type Edit struct {
	// File is a path in the repository, with slashes: destination/topic.go. After "$GOROOT/" it is one
	// of Go's own files: $GOROOT/src/time/sleep.go.
	File string
	// Old is the text to be replaced. The file must contain it exactly once. If it is empty, there
	// must be no such file yet, and the build has it in addition.
	Old string
	// New is the text in its place.
	New string
}

// goTree begins the File of an Edit of one of Go's own files.
const goTree = "$GOROOT/"

// trees are the directories that contain what is edited.
type trees struct {
	module string // of Signpost's go.mod
	goroot string
}

// path is where the file of an Edit is.
func (t trees) path(file string) string {
	if inGo, ok := strings.CutPrefix(file, goTree); ok {
		return filepath.Join(t.goroot, filepath.FromSlash(inGo))
	}
	return filepath.Join(t.module, filepath.FromSlash(file))
}

// apply returns the contents of all files that the edits change, by their paths. Edits of one file
// are made one after the other. Its error names each edit that doesn't fit.
func (t trees) apply(edits []Edit) (map[string]string, error) {
	changed := map[string]string{}
	var wrong []error
	for _, e := range edits {
		path := t.path(e.File)
		text, err := t.text(changed, path, e)
		if err == nil {
			text, err = e.apply(text)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		changed[path] = text
	}
	return changed, errors.Join(wrong...)
}

// text is what the file contains before the edit is made.
func (t trees) text(changed map[string]string, path string, e Edit) (string, error) {
	if text, ok := changed[path]; ok {
		return text, nil
	}
	content, err := os.ReadFile(path)
	switch {
	case e.Old == "" && errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("edit %s: %w", e.File, err)
	default:
		return string(content), nil
	}
}

func (e Edit) apply(text string) (string, error) {
	if e.Old == "" {
		if text != "" {
			return "", fmt.Errorf("edit %s: the file was to be added, but there is one already: choose another name", e.File)
		}
		return e.New, nil
	}
	if n := strings.Count(text, e.Old); n != 1 {
		return "", fmt.Errorf("edit %s: the file contains the text %d times, and must contain it once; adapt the edit to the file as it is now: %q",
			e.File, n, e.Old)
	}
	return strings.Replace(text, e.Old, e.New, 1), nil
}

// write applies the edits, and writes what "go build -overlay" wants to the directory dir: the
// changed files and the list of them, whose path it returns.
func (t trees) write(dir string, edits []Edit) (list string, err error) {
	changed, err := t.apply(edits)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range changed {
		// The compiler looks at the end of the name: _linux_amd64.go.
		copied := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = copied
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list = filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, content, 0o600)
}

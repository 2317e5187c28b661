package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestModuleOfSymbol(t *testing.T) {
	f := newFinder(&debug.BuildInfo{
		Main: debug.Module{Path: "example.org/program"},
		Deps: []*debug.Module{{Path: "example.org/kit"}, {Path: "example.org/kit/v2"}, {Path: "gopkg.in/yaml.v3"}},
	})
	for symbol, want := range map[string]string{
		"main.main":                                    "example.org/program",
		"example.org/program/cmd.(*T).Run":             "example.org/program",
		"example.org/kit.F":                            "example.org/kit",
		"example.org/kit/v2/sub.F.func1":               "example.org/kit/v2",
		"gopkg.in/yaml%2ev3.(*parser).parse":           "gopkg.in/yaml.v3",
		"example.org/kit.Map[go.shape.struct { a/b }]": "example.org/kit",
		"go:itab.*example.org/kit.T,io.Reader":         "example.org/kit",
		"type:.eq.example.org/kit/v2.T":                "example.org/kit/v2",
		"net/http.(*Server).Serve":                     standard,
		"vendor/golang.org/x/net/idna.idnaValues":      standard,
		"runtime.text":                                 standard,
		"go:func.*":                                    merged,
		"go:string.*":                                  merged,
		"type:func(*example.org/kit.T) error":          merged,
	} {
		if got := f.module(symbol); got != want {
			t.Errorf("%s is of %s, want %s", symbol, got, want)
		}
	}
}

// The parts of a program, which is this package's own, add up to its stripped size.
func TestSumIsTheStrippedSize(t *testing.T) {
	dir := t.TempDir()
	build := func(name string, flags ...string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		command := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, ".")...)
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return path
	}
	full, stripped := build("full"), build("stripped", "-ldflags=-s -w")
	var printed bytes.Buffer
	if err := run(&printed, full, 3); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{standard, "github.com/signpostd/signpost", "| all |"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &printed)
		}
	}
	p, err := measured(full)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(stripped)
	if err != nil {
		t.Fatal(err)
	}
	if difference := info.Size() - int64(p.total); difference < 0 || difference > info.Size()/50 {
		t.Errorf("the stripped program has %d bytes, and the table %d", info.Size(), p.total)
	}
	var sum uint64
	for _, r := range p.rows() {
		sum += r.both()
	}
	if sum > p.total || p.total-sum > 1000 {
		t.Errorf("the rows have %d bytes, and all of the program %d", sum, p.total)
	}
	if err := run(&printed, stripped, 3); err == nil || !strings.Contains(err.Error(), "it is stripped: build it without -ldflags=-s") {
		t.Errorf("for a stripped program the error is %v", err)
	}
}

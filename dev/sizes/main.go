// Command sizes shows what each module adds to a Go program:
//
//	go run ./dev/sizes bin/signpost
//
// prints a line for each module, the largest first, with the megabytes that its functions and variables
// take, and those that the table of functions takes for it (.gopclntab: names, lines and stack maps,
// which a stripped program has, too). That table isn't divided by functions in the file, so each module
// gets a part of it that is as large as its part of the code. What the linker merges from all packages,
// such as types and strings, is one line.
//
// The program must not be stripped; what is counted is what a stripped one has.
package main

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	top := flag.Int("top", 40, "how many modules to show; the others are one line")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "sizes: name a program, such as bin/signpost")
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Arg(0), *top); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// run prints the table of a program.
func run(w io.Writer, path string, top int) error {
	p, err := measured(path)
	if err != nil {
		return fmt.Errorf("measure %s: %w", path, err)
	}
	p.print(w, top)
	return nil
}

// measured returns the sizes of a program.
func measured(path string) (*program, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return measure(file, info)
}

// measure adds up the symbols and sections of a program.
func measure(file *elf.File, info *debug.BuildInfo) (*program, error) {
	symbols, err := file.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, errors.New("it is stripped: build it without -ldflags=-s")
	}
	if err != nil {
		return nil, err
	}
	p := &program{modules: map[string]*share{}}
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			p.total += s.FileSize
		}
		if s.Name == ".gopclntab" {
			p.table = s.FileSize
		}
	}
	find := newFinder(info)
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || int(s.Section) >= len(file.Sections) {
			continue
		}
		section := file.Sections[s.Section]
		if section.Flags&elf.SHF_ALLOC == 0 || section.Type == elf.SHT_NOBITS || section.Name == ".gopclntab" {
			continue
		}
		p.add(find.module(s.Name), s.Size, section.Flags&elf.SHF_EXECINSTR != 0)
	}
	return p, nil
}

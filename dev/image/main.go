// Command image makes the container image of Signpost as an archive in the OCI layout, from binaries
// that exist. It needs no Docker, no registry and no base image.
//
//	image --out dist/signpost.oci.tar --version v1.2.3 linux/amd64=FILE linux/arm64=FILE
//
// `make image` runs it. The archive has two images of the same layers, for all platforms: one whose
// entrypoint is signpost, and one, with the suffix -external-dns, whose entrypoint is external-dns,
// which is another name of the same program: the charts of ExternalDNS pass flags only. The same
// input gives the same bytes: an archive can be compared with one that somebody else has made.
//
// main.go has the command line, image.go makes images, and archive.go writes them.
//
// # Concurrency
//
// There is one goroutine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	out := flags.String("out", "", "`file` to write the archive to")
	name := flags.String("name", "ghcr.io/signpostd/signpost", "`repository` that the images are called by")
	version := flags.String("version", "dev", "`version` of the program, which becomes the tag")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("--out: no file is given: name the archive to write")
	}
	binaries, err := parseBinaries(flags.Args())
	if err != nil {
		return err
	}
	var indexes []named
	for _, e := range entrypoints {
		index, err := e.index(binaries, *version)
		if err != nil {
			return fmt.Errorf("make the image of %s: %w", e.program, err)
		}
		indexes = append(indexes, named{index: index, name: *name, tag: tagOf(*version) + e.suffix})
	}
	if err := writeArchive(*out, indexes); err != nil {
		return fmt.Errorf("write %s: %w", *out, err)
	}
	for _, n := range indexes {
		digest, err := n.index.Digest()
		if err != nil {
			return err
		}
		fmt.Printf("%s:%s@%s\n", n.name, n.tag, digest)
	}
	return nil
}

// binary is the program for a platform.
type binary struct {
	platform v1.Platform
	path     string
}

// parseBinaries reads arguments such as linux/arm64=FILE.
func parseBinaries(args []string) ([]binary, error) {
	if len(args) == 0 {
		return nil, errors.New("no binary is given: name one for each platform, as in linux/amd64=FILE")
	}
	var binaries []binary
	for _, arg := range args {
		platform, path, ok := strings.Cut(arg, "=")
		system, architecture, both := strings.Cut(platform, "/")
		if !ok || !both || system == "" || architecture == "" || path == "" {
			return nil, fmt.Errorf("%q: write OS/ARCHITECTURE=FILE, as in linux/amd64=bin/signpost", arg)
		}
		binaries = append(binaries, binary{v1.Platform{OS: system, Architecture: architecture}, path})
	}
	return binaries, nil
}

// tagOf returns a version as a tag, which has no + (the OCI distribution specification, "Pulling
// manifests").
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "-") }

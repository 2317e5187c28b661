// Package version has the version of this program, and the commit from which it was built. Commands, the log,
// a metric and the User-Agent header use it.
//
// The linker sets [Version]:
//
//	go build -ldflags "-X github.com/signpostd/signpost/internal/version.Version=v1.2.3" ./cmd/signpost
//
// Otherwise, as after `go install`, the version is the module version that Go has recorded: see [Current].
//
// # Concurrency
//
// The version doesn't change while the program runs, so any goroutine may read it.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is the version if the linker has set it, else "dev". Call [Current] instead.
var Version = unset

// unset is the version if nothing is known.
const unset = "dev"

// Current returns the version of the program: what the linker has set, else the module version, else "dev".
func Current() string { return current(Version, debug.ReadBuildInfo) }

func current(linked string, read func() (*debug.BuildInfo, bool)) string {
	if linked != unset {
		return linked
	}
	// Without tags or version control, Go records (devel) or nothing.
	if build, ok := read(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return unset
}

// UserAgent returns the User-Agent header for requests of the given roles. API servers record the part before
// the slash as the field manager.
func UserAgent(roles ...string) string {
	return fmt.Sprintf("signpost/%s (%s/%s) %s", Current(), runtime.GOOS, runtime.GOARCH, strings.Join(roles, ","))
}

// Revision returns the commit from which the program was built; empty if unknown.
func Revision() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

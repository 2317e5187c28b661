// Package version says which version this program is, and from which commit it was built.
//
// The linker sets [Version]:
//
//	go build -ldflags "-X github.com/signpostd/signpost/internal/version.Version=v1.2.3" ./cmd/signpost
//
// Without it, as after `go install`, the version is what Go has recorded of the module: see [Current].
// Commands print that, the log of a process begins with it, a metric has it, and servers that the
// program asks are told. It doesn't change while the program runs, so any goroutine may read it.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is that of the program if the linker has set it, and otherwise "dev". [Current] is for
// everybody else.
var Version = unset

// unset is the version of a program of which nothing is known.
const unset = "dev"

// Current returns the version of the program: what the linker has set, or that of the module that the
// program was built from, or "dev".
func Current() string { return current(Version, debug.ReadBuildInfo) }

func current(linked string, read func() (*debug.BuildInfo, bool)) string {
	if linked != unset {
		return linked
	}
	// Within a working copy without tags or without version control, Go writes (devel) or nothing.
	if build, ok := read(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return unset
}

// UserAgent returns what this program says to servers that it is, when it asks them for a role, or
// for several. API servers call the writer of an object by what is before the slash.
func UserAgent(roles ...string) string {
	return fmt.Sprintf("signpost/%s (%s/%s) %s", Current(), runtime.GOOS, runtime.GOARCH, strings.Join(roles, ","))
}

// Revision returns the commit that the program was built from; empty if that isn't known.
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

// Package version says which version this program is, and from which commit it was built.
//
// The linker sets [Version]:
//
//	go build -ldflags "-X github.com/signpostd/signpost/internal/version.Version=v1.2.3" ./cmd/signpost
//
// Commands print it, the log of a process begins with it, a metric has it, and servers that the
// program asks are told. It doesn't
// change while the program runs, so any goroutine may read it.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is that of the program, "dev" unless the linker has set it.
var Version = "dev"

// UserAgent returns what this program says to servers that it is, when it asks them for a role, or
// for several. API servers call the writer of an object by what is before the slash.
func UserAgent(roles ...string) string {
	return fmt.Sprintf("signpost/%s (%s/%s) %s", Version, runtime.GOOS, runtime.GOARCH, strings.Join(roles, ","))
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

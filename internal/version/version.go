// Package version says which version this program is, and from which commit it was built.
//
// The linker sets [Version]:
//
//	go build -ldflags "-X github.com/signpostd/signpost/internal/version.Version=v1.2.3" ./cmd/signpost
//
// Commands print it, the log of a process begins with it, and a metric has it. It doesn't
// change while the program runs, so any goroutine may read it.
package version

import "runtime/debug"

// Version is that of the program, "dev" unless the linker has set it.
var Version = "dev"

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

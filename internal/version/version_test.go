package version

import (
	"runtime/debug"
	"testing"
)

func TestCurrent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ linked, module, want string }{
		{"v1.2.3", "v9.9.9", "v1.2.3"},
		{"dev", "v0.3.0", "v0.3.0"}, // go install
		{"dev", "(devel)", "dev"},
		{"dev", "", "dev"},
	} {
		read := func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: test.module}}, true
		}
		if got := current(test.linked, read); got != test.want {
			t.Errorf("linked %q, module %q: got %q, want %q", test.linked, test.module, got, test.want)
		}
	}
	if got := current("dev", func() (*debug.BuildInfo, bool) { return nil, false }); got != "dev" {
		t.Errorf("without build information: got %q", got)
	}
}

package houserules

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// The local cluster has each module in the version that Signpost has. With another version, all importers of
// the module are compiled twice, which was a fifth of the work of a first `make demo`.
func TestLocalclusterHasSameVersions(t *testing.T) {
	ours, theirs := required(t, root), required(t, root+"/dev/localcluster")
	both := 0
	for path, version := range ours {
		other, found := theirs[path]
		switch {
		case !found:
			continue
		case other != version:
			t.Errorf("dev/localcluster has %s %s, and Signpost %s: run go get %[1]s@VERSION with the later one in both directories, and go mod tidy", path, other, version)
		}
		both++
	}
	if both < 50 {
		t.Errorf("there are %d modules in both, which can't be all", both)
	}
}

// required returns the versions of all modules with packages in the build of a module.
func required(t *testing.T, dir string) map[string]string {
	t.Helper()
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = dir
	text, err := command.Output()
	if err != nil {
		t.Fatalf("read go.mod of %s: %v", dir, err)
	}
	var file struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Path] = r.Version
	}
	return versions
}

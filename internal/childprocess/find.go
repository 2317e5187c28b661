package childprocess

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Find returns the path of a program. It also searches the directories for servers, which are not in every
// PATH.
func Find(program string) (string, error) {
	for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s isn't installed: run `make deps`", program)
}

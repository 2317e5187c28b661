package kubetest

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const rootModule = "github.com/signpostd/signpost"

// Localcluster returns the path of the program localcluster. It builds the program if it doesn't exist.
func Localcluster() (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", "localcluster")
	if exists, err := isFile(binary); exists || err != nil {
		return binary, err
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", fmt.Errorf("build localcluster: %w", err)
	}
	return binary, build(root, binary)
}

// build compiles localcluster. Several test binaries may run at the same time: one of them builds, and the
// others wait. The file is renamed when it is complete.
func build(root, binary string) error {
	lock, err := os.OpenFile(binary+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("build localcluster: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("build localcluster: wait for another build: %w", err)
	}
	if exists, err := isFile(binary); exists || err != nil {
		return err
	}
	fresh := binary + ".new"
	// The flags are those of dev/build.sh, which could not reuse the build cache otherwise.
	cmd := exec.Command("go", "build", "-C", filepath.Join(root, "dev", "localcluster"), "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", fresh, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build localcluster: %w\n%s", err, output)
	}
	if err := os.Rename(fresh, binary); err != nil {
		return fmt.Errorf("build localcluster: %w", err)
	}
	return nil
}

func isFile(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// repositoryRoot walks up from the working directory to the root module's go.mod.
func repositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if moduleName(filepath.Join(dir, "go.mod")) == rootModule {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository: no go.mod of %s in %s or above", rootModule, start)
		}
	}
}

// moduleName returns the name of the module of a go.mod, empty if there is no such file.
func moduleName(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

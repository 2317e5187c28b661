package bindtest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/signpostd/signpost/internal/childprocess"
)

// launch starts a program with its output in a file.
func launch(cmd *exec.Cmd, logFile string) (*childprocess.Process, error) {
	output, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("make the log: %w", err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	return childprocess.Start(cmd, syscall.SIGKILL)
}

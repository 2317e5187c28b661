package supervise

import (
	"io"
	"os"
	"strings"
)

// tailBytes bounds how much of the file Tail reads.
const tailBytes = 16 << 10

// Tail returns the last lines of a file, however long the file is.
func Tail(path string, lines int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytes), tailBytes))
	if err != nil {
		return "", err
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n"), nil
}

package provider

import (
	"fmt"
	"io"
	"os"
)

// ReadFile returns the content of a file of at most so many bytes, such as one with a secret.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // The file was only read.
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes: name a file with nothing but what is needed", path, most)
	}
	return text, err
}

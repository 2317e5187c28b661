package provider

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// FromFiles is a value that is made from files, such as credentials in a mounted Secret. If the files change,
// the value is made again, so that new credentials need no restart. If the new files can't be used, the
// previous value stays. All methods may be called from any goroutine.
type FromFiles[T any] struct {
	// Paths are the paths of the files. A file may be missing.
	Paths []string
	// Make returns the value for the present files. It is called again only after a change, or if no value
	// was made yet.
	Make func() (T, error)
	// Log gets a message for each change. Nil means none.
	Log *slog.Logger

	mu    sync.Mutex
	made  bool
	value T
	// tried identifies the files that Make was last called for.
	tried [sha256.Size]byte
}

// Get returns the value. It fails only if no value was made yet.
func (f *FromFiles[T]) Get() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	present := f.digest()
	if f.made && present == f.tried {
		return f.value, nil
	}
	value, err := f.Make()
	f.tried = present
	switch {
	case err == nil:
		f.note(slog.LevelInfo, "Credentials were replaced in their files", nil)
		f.value, f.made = value, true
	case f.made:
		f.note(slog.LevelError, "Credentials can't be used as they are in their files now: the previous ones stay in use", err)
	default:
		return value, err
	}
	return f.value, nil
}

// note logs a change of the files. The first value is no change.
func (f *FromFiles[T]) note(level slog.Level, message string, err error) {
	if !f.made || f.Log == nil {
		return
	}
	attributes := []any{"files", strings.Join(f.Paths, ", ")}
	if err != nil {
		attributes = append(attributes, "err", err)
	}
	f.Log.Log(context.Background(), level, message, attributes...)
}

// digest identifies the contents of the files.
func (f *FromFiles[T]) digest() [sha256.Size]byte {
	var all []byte
	for _, path := range f.Paths {
		// A file that can't be read is the same as an empty one: Make says what is wrong with it.
		text, _ := os.ReadFile(path)
		one := sha256.Sum256(text)
		all = append(all, one[:]...)
	}
	return sha256.Sum256(all)
}

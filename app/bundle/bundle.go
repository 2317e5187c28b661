package bundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
)

// Limits of a bundle. Larger content is cut, and errors.txt says so.
const (
	// maxFile limits a file and maxTotal all files, in bytes.
	maxFile  = 16 << 20
	maxTotal = 128 << 20
	// maxLog and maxLines limit the log of a container, in bytes and lines.
	maxLog   = 4 << 20
	maxLines = 20000
	// maxEvents limits the Events of a namespace.
	maxEvents = 500
	// maxName limits the name of a file.
	maxName = 200
)

// Source is the input of a bundle.
type Source struct {
	// Client queries the processes.
	Client *inspectclient.Client
	// API is a client of the API server, and Pods are those of Signpost. Without pods nothing is read
	// from the API server.
	API  kubernetes.Interface
	Pods []*corev1.Pod
	// Secrets are the names of secret flags.
	Secrets []string
	Now     time.Time
}

// Summary describes a written bundle.
type Summary struct {
	Files  []string `json:"files"`
	Errors []string `json:"errors"`
}

// Write writes a bundle as a compressed tar file. Failed parts are listed in errors.txt. An error
// is returned only if everything failed, or if the file can't be written.
func Write(ctx context.Context, w io.Writer, s Source) (Summary, error) {
	masks := newMasks(s.Secrets, s.Pods)
	files := append(s.Client.Everything(ctx), s.cluster(ctx, masks)...)
	zipped := gzip.NewWriter(w)
	a := &archive{tar: tar.NewWriter(zipped), masks: masks, now: s.Now}
	for _, f := range files {
		if f.Err != nil {
			a.fail("%s: %v", f.Name, f.Err)
		}
		if f.Text == nil {
			continue
		}
		if err := a.add(f.Name, f.Text); err != nil {
			return a.summary, err
		}
	}
	if len(a.summary.Files) == 0 {
		return a.summary, nothingCollected(a.summary.Errors)
	}
	if err := a.add("errors.txt", []byte(strings.Join(a.summary.Errors, "\n")+"\n")); err != nil {
		return a.summary, err
	}
	return a.summary, errors.Join(a.tar.Close(), zipped.Close())
}

// archive is a tar file that is being written.
type archive struct {
	tar     *tar.Writer
	masks   *masks
	now     time.Time
	total   int
	summary Summary
}

func (a *archive) fail(format string, args ...any) {
	const limit = 1000
	text := []rune(output.Clean(string(a.masks.mask(fmt.Appendf(nil, format, args...)))))
	a.summary.Errors = append(a.summary.Errors, string(text[:min(len(text), limit)]))
}

// add adds a file, with secrets masked and cut to the limits.
func (a *archive) add(name string, text []byte) error {
	name = fileName(name)
	text = a.masks.mask(text) // before the cut, which may leave a part of a secret
	if room := min(maxFile, maxTotal-a.total); len(text) > room {
		a.fail("%s: only the first %d of %d bytes are kept", name, room, len(text))
		text = text[:room]
	}
	a.total += len(text)
	header := &tar.Header{Name: "signpost-bundle/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: a.now, Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s into the bundle: %w", name, err)
	}
	if _, err := a.tar.Write(text); err != nil {
		return fmt.Errorf("write %s into the bundle: %w", name, err)
	}
	a.summary.Files = append(a.summary.Files, name)
	return nil
}

// fileName returns a name without path elements. The names of processes are untrusted.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '.' || r == '-' || r == '_' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, name)
	for strings.Contains(name, "..") {
		name = strings.ReplaceAll(name, "..", "_")
	}
	name = strings.TrimLeft(name, "/")
	return name[:min(len(name), maxName)]
}

// nothingCollected returns the error of an empty bundle. Mostly all its parts have the same cause.
func nothingCollected(errs []string) error {
	if len(errs) == 0 {
		return errors.New("nothing could be collected")
	}
	more := ""
	if n := len(errs) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more errors)", n)
	}
	return fmt.Errorf("nothing could be collected: %s%s", errs[0], more)
}

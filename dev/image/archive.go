package main

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// named is an image and what it is called.
type named struct {
	index     v1.ImageIndex
	name, tag string
}

// writeArchive writes images as a tar archive of the OCI image layout. The file is complete, or
// it isn't there.
func writeArchive(path string, images []named) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "layout")
	written, err := layout.Write(in, empty.Index)
	if err != nil {
		return err
	}
	for _, i := range images {
		err := written.AppendIndex(i.index, layout.WithAnnotations(map[string]string{
			// The OCI image layout has the first one for a tag; containerd and Docker read the second.
			"org.opencontainers.image.ref.name": i.tag,
			"io.containerd.image.name":          i.name + ":" + i.tag,
		}))
		if err != nil {
			return err
		}
	}
	partial := filepath.Join(dir, "archive")
	if err := writeTar(partial, in); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// writeTar writes the files of a directory to a tar archive, in the order of their names.
func writeTar(path, dir string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	// WalkDir goes by name.
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return addFile(w, filepath.ToSlash(name), file)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}

func addFile(w *tar.Writer, name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size(), ModTime: created, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is where the binary is in the image.
const program = "/usr/bin/signpost"

// user is nobody with rights: the number that distroless images and Kubernetes' examples use for
// a process that isn't root.
const user = "65532:65532"

// created is the time of everything in the image, so that the same binary gives the same image.
var created = time.Unix(0, 0).UTC()

// entrypoint is a name under which the program is started.
type entrypoint struct {
	// program is the path of the entrypoint; suffix that of the tag.
	program, suffix string
}

var entrypoints = []entrypoint{{program, ""}, {"/usr/bin/external-dns", "-external-dns"}}

// links are other names of the program: the program looks at the name by which it is called.
var links = []string{"usr/bin/external-dns", "usr/bin/kubectl-signpost"}

// index returns the image for all platforms.
func (e entrypoint) index(binaries []binary, version string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		image, err := e.image(b, version)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &b.platform}})
	}
	return index, nil
}

// image returns the image for a platform: a layer with the program, which needs no other file.
// Certificates of authorities are in the program.
func (e entrypoint) image(b binary, version string) (v1.Image, error) {
	content, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	files, err := layerOf(content)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "make image"}}); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, e.config(image, b.platform, version))
}

// config returns what the image says about itself, with what it already has of its layers.
func (e entrypoint) config(image v1.Image, platform v1.Platform, version string) *v1.ConfigFile {
	file := &v1.ConfigFile{}
	if old, err := image.ConfigFile(); err == nil {
		file = old.DeepCopy()
	}
	file.OS, file.Architecture, file.Created = platform.OS, platform.Architecture, v1.Time{Time: created}
	file.Config = v1.Config{
		User: user, Entrypoint: []string{e.program}, WorkingDir: "/", Env: []string{"PATH=/usr/bin"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "signpost",
			"org.opencontainers.image.version":  version,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source":   "https://github.com/signpostd/signpost",
		},
	}
	return file
}

// layerOf returns the layer as a tar archive: the directories, the program, its other names, and
// a /tmp for what is made at run time, which only is writable if somebody mounts something there.
func layerOf(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	headers := []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
		{Typeflag: tar.TypeDir, Name: "usr/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "usr/bin/", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: program[1:], Mode: 0o755, Size: int64(len(content))},
	}
	for _, link := range links {
		headers = append(headers, &tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: "signpost", Mode: 0o777})
	}
	for _, h := range headers {
		h.ModTime, h.Format = created, tar.FormatPAX
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("write %s: %w", h.Name, err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(content); err != nil {
				return nil, fmt.Errorf("write %s: %w", h.Name, err)
			}
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

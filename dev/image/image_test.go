package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// make writes an archive of two small programs, and returns its bytes.
func makeArchive(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	args := []string{"--out", filepath.Join(dir, "out.tar"), "--name", "registry.test/signpost", "--version", "v1.2.3+4"}
	for _, architecture := range []string{"amd64", "arm64"} {
		path := filepath.Join(dir, architecture)
		if err := os.WriteFile(path, []byte("program for "+architecture), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "linux/"+architecture+"="+path)
	}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Join(dir, "out.tar"))
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// unpack returns the layout in an archive.
func unpack(t *testing.T, archive []byte) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestArchiveIsReproducible(t *testing.T) {
	if !bytes.Equal(makeArchive(t), makeArchive(t)) {
		t.Error("two archives of the same programs differ")
	}
}

func TestArchive(t *testing.T) {
	index := unpack(t, makeArchive(t))
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range manifest.Manifests {
		platforms, err := index.ImageIndex(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(platforms); err != nil {
			t.Errorf("%s: %v", d.Annotations["io.containerd.image.name"], err)
		}
		got = append(got, d.Annotations["io.containerd.image.name"]+" "+d.Annotations["org.opencontainers.image.ref.name"])
		got = append(got, describe(t, platforms)...)
	}
	want := []string{"registry.test/signpost:v1.2.3-4 v1.2.3-4"}
	want = append(want, wanted("/usr/bin/signpost")...)
	want = append(want, "registry.test/signpost:v1.2.3-4-external-dns v1.2.3-4-external-dns")
	want = append(want, wanted("/usr/bin/external-dns")...)
	if !slices.Equal(got, want) {
		t.Errorf("the archive has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func wanted(entrypoint string) (lines []string) {
	for _, architecture := range []string{"amd64", "arm64"} {
		lines = append(lines,
			fmt.Sprintf("linux/%s as 65532:65532: [%s]", architecture, entrypoint),
			"tmp 1777 ", "usr 755 ", "usr/bin 755 ",
			"usr/bin/signpost 755 program for "+architecture,
			"usr/bin/external-dns 777 -> signpost", "usr/bin/kubectl-signpost 777 -> signpost")
	}
	return lines
}

// describe returns lines about the images of an index.
func describe(t *testing.T, index v1.ImageIndex) (lines []string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s as %s: %v", d.Platform, config.Config.User, config.Config.Entrypoint))
		lines = append(lines, files(t, image)...)
	}
	return lines
}

func files(t *testing.T, image v1.Image) (lines []string) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Linkname != "" {
			text = []byte("-> " + h.Linkname)
		}
		lines = append(lines, fmt.Sprintf("%s %o %s", h.Name, h.Mode, text))
	}
}

func TestArguments(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "--out: no file is given"},
		{[]string{"--out", "x"}, "no binary is given"},
		{[]string{"--out", "x", "signpost"}, `"signpost": write OS/ARCHITECTURE=FILE`},
		{[]string{"--out", "x", "linux=signpost"}, `"linux=signpost": write OS/ARCHITECTURE=FILE`},
		{[]string{"--out", "x", "linux/amd64=" + filepath.Join("no", "file")}, "no such file"},
	} {
		if err := run(test.args); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: the error is %v, want %q", test.args, err, test.want)
		}
	}
}

// The program needs no other file, and no rights: it runs alone in an empty directory, under each of
// its names.
func TestRunsAlone(t *testing.T) {
	signpost, err := os.ReadFile("../../bin/signpost")
	if err != nil || os.Getuid() != 0 {
		t.Skipf("needs bin/signpost, which make build makes, and root for chroot: %v", err)
	}
	root := t.TempDir()
	layer, err := layerOf(signpost)
	if err != nil {
		t.Fatal(err)
	}
	unpackLayer(t, root, layer)
	for _, test := range []struct{ program, argument, want string }{
		{"/usr/bin/signpost", "--help", "Server roles:"},
		{"/usr/bin/external-dns", "--help", "signpost dns [flags]"},
		{"/usr/bin/kubectl-signpost", "--help", "kubectl signpost"},
	} {
		cmd := exec.Command(test.program, test.argument)
		cmd.Dir, cmd.Env = "/", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s %s: %v, it prints\n%.500s\nwant %q", test.program, test.argument, err, out, test.want)
		}
	}
}

// unpackLayer writes the files of a layer.
func unpackLayer(t *testing.T, root string, layer []byte) {
	t.Helper()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.Mkdir(path, os.FileMode(h.Mode&0o777))
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, os.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

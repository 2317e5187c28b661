package sourcetest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/kubetest"
)

var update = flag.Bool("update", false, "write what the scenarios of sources turn out to give")

// Run runs each scenario in testdata as a subtest, with the checks for every source.
func Run(t *testing.T, plugin source.Plugin) {
	t.Helper()
	RunIn(t, plugin, "testdata")
}

// RunIn is Run with the scenarios of another directory, for a package with several sources.
func RunIn(t *testing.T, plugin source.Plugin, dir string) {
	t.Helper()
	if err := Undocumented(plugin, dir); err != nil {
		t.Error(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s/*.txtar (%v): a source has scenarios", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScenario(t, plugin, path)
		})
	}
}

// Main runs the tests of a source, whose cluster has the CRDs of a folder, or none. Call it from
// TestMain.
func Main(m *testing.M, crds string) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs(crds)))
}

// RunReal runs each testdata/<name>.txtar against the real API server of the tests, one after the
// other because some kinds are cluster-scoped. Other objects are in the scenario's default
// namespace. RunReal doesn't compare "changed", because it can't know when the source has seen a
// change.
func RunReal(t *testing.T, plugin source.Plugin, names ...string) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			archive := parse(t, filepath.Join("testdata", name+".txtar"))
			run := &scenario{t: t, plugin: plugin, backend: newRealBackend(t, kubetest.Start(t)), archive: archive, real: true}
			run.play()
		})
	}
}

func runScenario(t *testing.T, plugin source.Plugin, path string) {
	t.Helper()
	archive := parse(t, path)
	run := &scenario{t: t, plugin: plugin, backend: newMemoryBackend(plugin, flagsIn(archive)), archive: archive}
	run.play()
	if *update && !t.Failed() {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if run.fixture != nil && run.fixture.source.Poll == nil {
		run.fixture.End()
	}
}

// flagsIn returns the flags of a scenario.
func flagsIn(archive *txtar.Archive) []string {
	for _, file := range archive.Files {
		if file.Name == "flags" {
			return lines(file.Data)
		}
	}
	return nil
}

func parse(t *testing.T, path string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// scenario is a running scenario.
type scenario struct {
	t       *testing.T
	plugin  source.Plugin
	backend backend
	archive *txtar.Archive
	real    bool

	flags   []string
	fixture *Fixture
}

func (s *scenario) play() {
	s.t.Helper()
	for i := range s.archive.Files {
		file := &s.archive.Files[i]
		if err := s.do(file); err != nil {
			s.t.Fatalf("-- %s --: %v", file.Name, err)
		}
	}
}

// do carries out a section.
func (s *scenario) do(file *txtar.File) error {
	s.t.Helper()
	word, _, _ := strings.Cut(file.Name, " ")
	switch {
	case word == "flags":
		s.flags = lines(file.Data)
		return nil
	case word == "apply" && s.fixture == nil:
		// These objects exist before the source is opened.
		return s.backend.apply(string(file.Data))
	case word == "error":
		_, err := open(s.t, s.plugin, s.backend, s.flags)
		if err == nil {
			return errors.New("Open gave no error")
		}
		s.compare(file, err.Error()+"\n")
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	switch word {
	case "apply":
		s.fixture.Apply(string(file.Data))
	case "delete":
		return s.delete(file)
	case "changed":
		if changed := s.fixture.Changed(); !s.real {
			s.compare(file, changed)
		}
	case "records":
		s.records(file)
	default:
		return errors.New("no such section; see the documentation of sourcetest")
	}
	return nil
}

// begin opens the source unless it is open.
func (s *scenario) begin() (err error) {
	s.t.Helper()
	if s.fixture == nil {
		s.fixture, err = open(s.t, s.plugin, s.backend, s.flags)
	}
	return err
}

func (s *scenario) delete(file *txtar.File) error {
	s.t.Helper()
	for _, line := range lines(file.Data) {
		kind, name, ok := strings.Cut(line, " ")
		if !ok {
			return fmt.Errorf("%q: write the kind and the name", line)
		}
		key := source.Key{Name: name}
		if namespace, name, ok := strings.Cut(name, "/"); ok {
			key = source.Key{Namespace: namespace, Name: name}
		}
		s.fixture.Delete(kind, key)
	}
	return nil
}

func (s *scenario) records(file *txtar.File) {
	s.t.Helper()
	if s.real {
		kubetest.Eventually(s.t, patience, func() error {
			if diff := cmp.Diff(string(file.Data), s.fixture.Results()); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", file.Name, diff)
			}
			return nil
		})
		return
	}
	s.compare(file, s.fixture.Results())
}

// compare compares a section with the result. With -update it replaces the section instead.
func (s *scenario) compare(file *txtar.File, got string) {
	s.t.Helper()
	if *update && !s.real {
		file.Data = []byte(got)
		return
	}
	if diff := cmp.Diff(string(file.Data), got); diff != "" {
		s.t.Errorf("-- %s -- (-want +got):\n%s", file.Name, diff)
	}
}

// lines returns the non-empty lines.
func lines(data []byte) []string {
	var list []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"github.com/signpostd/signpost/app/settings"
)

// scenarioDir holds the scenarios.
const scenarioDir = "testdata/script"

// scenario is a file in [scenarioDir]. It begins with a comment that names the acceptance cases
// of spec/destination.md and describes the situation. Then it has sections, in the order in
// which things happen:
//
//	flags        settings of the role, as name=value, one on each line
//	backend      "memory: REASON" if a real API server would refuse an object
//	apply        objects in YAML; one without a namespace is in $NS; $OTHER is another
//	delete       objects to delete, as KIND NAME or KIND NAMESPACE/NAME, one on each line
//	get NAME     opens a stream: a line with the authority, then the context token
//	profile NAME opens a stream in the same way, for a profile
//	close NAME   the client ends the stream
//	sync         the cluster is known from here on; without this section, from the start
//	stop         the server stops
//	want         all that the open streams received since the last want
//
// Objects change one at a time, each after all streams were sent the change before.
type scenario struct {
	name    string
	archive *txtar.Archive
	options settings.Destination
	steps   []scenarioStep
	// memoryOnly says why no API server can play it; empty if one can.
	memoryOnly string
	// waitsForSync is true if the scenario has a section sync.
	waitsForSync bool
}

// scenarioStep is what happens before a want section.
type scenarioStep struct {
	actions []scenarioAction
	// want is the index of the section in the archive.
	want int
}

// scenarioAction is one section that is not an expectation.
type scenarioAction struct {
	verb, name, body string
}

// readScenarios returns all scenarios, sorted by name.
func readScenarios(t *testing.T) []*scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scenarioDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in %s (%v)", scenarioDir, err)
	}
	all := make([]*scenario, len(paths))
	for i, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err == nil {
			all[i], err = parseScenario(archive)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[i].name = strings.TrimSuffix(filepath.Base(path), ".txtar")
	}
	return all
}

func parseScenario(archive *txtar.Archive) (*scenario, error) {
	s := &scenario{archive: archive, options: scenarioDefaults()}
	step := scenarioStep{want: -1}
	for i, f := range archive.Files {
		verb, name, _ := strings.Cut(f.Name, " ")
		body := string(f.Data)
		if (verb == "get" || verb == "profile" || verb == "close") != (name != "") {
			return nil, fmt.Errorf("section %q: get, profile and close name a stream, the others don't", f.Name)
		}
		switch verb {
		case "flags":
			if err := s.setFlags(body); err != nil {
				return nil, err
			}
		case "backend":
			reason, ok := strings.CutPrefix(body, "memory: ")
			if !ok || strings.TrimSpace(reason) == "" {
				return nil, fmt.Errorf("section backend: want memory: REASON")
			}
			s.memoryOnly = strings.TrimSpace(reason)
		case "apply", "delete", "get", "profile", "close", "sync", "stop":
			s.waitsForSync = s.waitsForSync || verb == "sync"
			step.actions = append(step.actions, scenarioAction{verb, name, body})
		case "want":
			step.want = i
			s.steps = append(s.steps, step)
			step = scenarioStep{want: -1}
		default:
			return nil, fmt.Errorf("section %q is unknown", f.Name)
		}
	}
	if len(step.actions) > 0 || len(s.steps) == 0 {
		return nil, fmt.Errorf("the last section has to be a want")
	}
	return s, nil
}

// scenarioDefaults is the fixture of spec/destination.md §9.
func scenarioDefaults() settings.Destination {
	o := settings.Default().Destination
	o.ClusterDomain = "mycluster.local"
	o.IdentityTrustDomain = "trust.domain"
	o.DefaultOpaquePorts = "25,443,587,3306,5432,11211"
	return o
}

// setFlags sets flags as a command line does.
func (s *scenario) setFlags(body string) error {
	flags := pflag.NewFlagSet("scenario", pflag.ContinueOnError)
	settings.AddFlags(flags, s.options.Settings())
	var args []string
	for line := range strings.Lines(body) {
		args = append(args, "--"+strings.TrimSpace(line))
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := settings.CheckFlags(&s.options); err != nil {
		return err
	}
	s.options = s.options.Settled()
	return nil
}

// compare compares what happened with the want sections.
func (s *scenario) compare(t *testing.T, happened []outcome) {
	t.Helper()
	for i, step := range s.steps {
		if diff := gocmp.Diff(string(s.archive.Files[step.want].Data), happened[i].transcript); diff != "" {
			t.Errorf("step %d of %d, after %s (-want +got):\n%s", i+1, len(s.steps), step.describe(), diff)
		}
	}
}

// rewrite writes what happened into the want sections of the file.
func (s *scenario) rewrite(t *testing.T, happened []outcome) {
	t.Helper()
	for i, step := range s.steps {
		s.archive.Files[step.want].Data = []byte(happened[i].transcript)
	}
	if err := os.WriteFile(filepath.Join(scenarioDir, s.name+".txtar"), txtar.Format(s.archive), 0o644); err != nil {
		t.Error(err)
	}
}

// manifests returns the objects of a section apply.
func (a scenarioAction) manifests(t *testing.T, names scenarioNames) []manifest {
	t.Helper()
	objects, err := manifestsOf(names.real(a.body), names.ns)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// objects returns the names of a section delete.
func (a scenarioAction) objects(t *testing.T, names scenarioNames) []objectName {
	t.Helper()
	objects, err := namesOf(names.real(a.body), names.ns)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// describe returns the sections of the step.
func (s scenarioStep) describe() string {
	var sections []string
	for _, a := range s.actions {
		sections = append(sections, strings.TrimSpace(a.verb+" "+a.name))
	}
	return strings.Join(sections, ", ")
}

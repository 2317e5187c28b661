package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/internal/golden"
)

// wantPrefix begins the lines at the end of a test file that have the expected result.
const wantPrefix = "# want: "

// Each file in testdata/config ends with the expected result: the errors of a *.bad.yaml, or
// the flags that say the same as a *.good.yaml.
func TestDecode(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	lists := pluginLists()
	for name, value := range map[string]string{"LEVEL": "debug", "NUMBER": "7", "SECRET": "c2VjcmV0"} {
		t.Setenv("SIGNPOST_TEST_"+name, value)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source, want := splitWanted(string(text))
			got := lists.Replace(describeConfig(source))
			if good := strings.HasSuffix(file, ".good.yaml"); good == strings.Contains(got, "config.yaml:") {
				t.Errorf("a file with this name leads to:\n%s", got)
			}
			if golden.Update() {
				rewrite(t, file, source, got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// pluginLists replaces the lists of all sources and of all providers, which get longer.
func pluginLists() *strings.Replacer {
	var sources, providers []string
	for _, p := range plugins.Sources() {
		sources = append(sources, p.Name)
	}
	for _, p := range plugins.Providers() {
		providers = append(providers, p.Names...)
	}
	slices.Sort(sources)
	slices.Sort(providers)
	return strings.NewReplacer(strings.Join(sources, ", "), "SOURCES", strings.Join(providers, ", "), "PROVIDERS")
}

func splitWanted(text string) (source, want string) {
	for line := range strings.Lines(text) {
		if w, ok := strings.CutPrefix(line, wantPrefix); ok {
			want += w
			continue
		}
		source += line
	}
	return source, want
}

func rewrite(t *testing.T, file, source, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		source += wantPrefix + line
	}
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
}

// describeConfig returns the errors of a config file, or the flags that say the same.
func describeConfig(source string) string {
	c, err := Decode("config.yaml", []byte(source), References{})
	if err != nil {
		return err.Error() + "\n"
	}
	var text string
	switch {
	case c.RunsDestination && c.RunsControllers:
		text = "destination and controllers\n"
	case c.RunsDestination:
		text = "destination\n"
	case c.RunsControllers:
		text = "controllers\n"
	case c.RunsDNS:
		text = "dns\n"
	default:
		text = "process\n"
	}
	if c.RunsDNS {
		for _, p := range c.DNS.Publishers {
			text += fmt.Sprintf("publisher %q: %v to %v, %s, every %v\n", p.Name, p.Sources, p.Providers, p.Policy, p.Interval)
		}
	}
	plain := Default()
	plain.RunsDestination, plain.RunsControllers, plain.RunsDNS = c.RunsDestination, c.RunsControllers, c.RunsDNS
	plain.DNS.Publishers = c.DNS.Publishers
	defaults := plain.Settings()
	for i, s := range c.Settings() {
		if got := s.Value.String(); got != defaults[i].Value.String() {
			text += fmt.Sprintf("--%s=%s\n", s.Flag, got)
		}
	}
	for _, r := range c.Remarks {
		text += fmt.Sprintf("remark: %s=%q %s, %s\n", r.setting, r.value, r.reason, r.instead)
	}
	return text
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/config/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode("config.yaml", text, References{})
		if err == nil {
			for _, part := range c.Sections() {
				for _, p := range part.validate() {
					if p.severity != remarked {
						t.Errorf("accepted although %v: %s", p.flags, p.reason)
					}
				}
			}
			return
		}
		if usage := new(UsageError); !errors.As(err, &usage) {
			t.Errorf("%v is not marked as an error of usage", err)
		}
		if first, _, _ := strings.Cut(err.Error(), "\n"); !strings.HasPrefix(first, "config.yaml:") || strings.HasPrefix(first, "config.yaml:0") {
			t.Errorf("the error %q has no line", first)
		}
	})
}

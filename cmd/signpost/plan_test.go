package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"github.com/signpostd/signpost/app/preview"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/golden"
)

// TestPlan runs `signpost plan` for each file testdata/plan/*.txtar. Its section args has the arguments, one
// per line, and stdin the standard input. status, stdout and stderr are the expected results, which -update
// rewrites. Other sections are files to create.
func TestPlan(t *testing.T) {
	files, err := filepath.Glob("testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playPlan(t, path) })
	}
}

func playPlan(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", "nonesuch")
	input := map[string]string{}
	got := map[string]*txtar.File{}
	for i := range archive.Files {
		f := &archive.Files[i]
		switch f.Name {
		case "args", "stdin":
			input[f.Name] = string(f.Data)
		case "status", "stdout", "stderr":
			got[f.Name] = f
		default:
			writeFile(t, f.Name, f.Data)
		}
	}
	args := append([]string{"plan"}, strings.Split(strings.TrimSpace(input["args"]), "\n")...)
	code, out, errText := runCommandWith(t, input["stdin"], args...)
	errText = strings.ReplaceAll(errText, allProviders(), "PROVIDERS")
	for _, part := range [][2]string{{"status", strconv.Itoa(code) + "\n"}, {"stdout", out}, {"stderr", errText}} {
		name, text := part[0], part[1]
		f := got[name]
		if f == nil {
			archive.Files = append(archive.Files, txtar.File{Name: name})
			f = &archive.Files[len(archive.Files)-1]
		}
		if golden.Update() {
			f.Data = []byte(text)
		} else if diff := cmp.Diff(string(f.Data), text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if golden.Update() {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// runCommandWith is runCommand with standard input from a string.
func runCommandWith(t *testing.T, stdin string, args ...string) (int, string, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdin")
	writeFile(t, path, []byte(stdin))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := os.Stdin
	os.Stdin = f
	defer func() { os.Stdin = before }()
	return runCommand(t.Context(), args...)
}

const (
	planObjects1 = `apiVersion: v1
kind: Service
metadata: {name: shop, annotations: {external-dns.kubernetes.io/hostname: shop.example.org}}
spec: {type: LoadBalancer, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
`
	planZone1 = `$ORIGIN example.org.
$TTL 300
@ SOA ns hostmaster 1 3600 600 86400 60
@ NS ns.invalid.
old A 192.0.2.9
a-old TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/old"
older A 192.0.2.9
a-older TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/older"
`
)

// TestPlanShowsNoSecrets shows that the command prints no secret, whether it uses, refuses or ignores the
// flag.
func TestPlanShowsNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "objects.yaml", []byte(planObjects1))
	writeFile(t, "example.org.zone", []byte(planZone1))
	const secret = "c2VjcmV0IHRoYXQgbm9ib2R5IG1heSBzZWUh"
	var secrets, ignored []string
	newDNSCommand(streams{}).Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case provider.IsSecret(f) && !configure.Supported(f):
			ignored = append(ignored, f.Name)
		case provider.IsSecret(f):
			secrets = append(secrets, f.Name)
		}
	})
	if len(secrets) < 3 || len(ignored) < 5 {
		t.Fatalf("the only secrets are %v and %v", secrets, ignored)
	}
	base := []string{"plan", "--source=service", "--policy=sync", "-f", "objects.yaml", "--zone-file=example.org.zone", "--log-level=trace"}
	check := func(what string, code int, args ...string) {
		got, out, errText := runCommand(t.Context(), append(slices.Clone(base), args...)...)
		if text := out + errText; got != code || strings.Contains(text, secret) || text == "" {
			t.Errorf("%s: status %d, want %d and nothing that is shown:\n%s", what, got, code, text)
		}
	}
	for _, name := range ignored {
		check("--"+name, exitDiffers, "--"+name+"="+secret)
	}
	var args []string
	for _, name := range secrets {
		args = append(args, "--"+name+"="+secret)
	}
	// The key must have 32 bytes.
	check("flags", exitFailure, args...)
	check("flags with a key", exitDiffers, append(args, "--txt-encrypt-aes-key=01234567890123456789012345678901")...)
	for _, name := range slices.Concat(ignored, secrets) {
		t.Setenv("EXTERNAL_DNS_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), secret)
	}
	check("environment", exitFailure)
}

// TestPlanHash shows that the hash doesn't depend on who makes the plan, so that deletions shown by plan can
// be approved for dns.
func TestPlanHash(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "objects.yaml", []byte(planObjects1))
	writeFile(t, "example.org.zone", []byte(planZone1))
	args := []string{"plan", "--source=service", "--policy=sync", "-f", "objects.yaml", "--zone-file=example.org.zone", "--max-deletions=1", "-o", "json"}
	hash := func(more ...string) (string, preview.Plan) {
		code, out, errText := runCommand(t.Context(), append(slices.Clone(args), more...)...)
		var p preview.Plan
		if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitDiffers || len(p.Zones) != 1 {
			t.Fatalf("status %d, %v:\n%s%s", code, err, out, errText)
		}
		if p.Zones[0].Held == nil {
			return "", p
		}
		return p.Zones[0].Held.Hash, p
	}
	first, p := hash()
	if len(p.Zones[0].Held.Deletions) != 2 || len(p.Zones[0].Changes) != 1 {
		t.Errorf("held: %+v", p.Zones[0])
	}
	if second, _ := hash("--interval=5m", "--provider=rfc2136", "--rfc2136-host=192.0.2.53", "--rfc2136-zone=example.org", "--rfc2136-insecure"); first == "" || first != second {
		t.Errorf("hashes %q and %q", first, second)
	}
	if held, p := hash("--approve-plan=" + first); held != "" || len(p.Zones[0].Changes) != 3 {
		t.Errorf("approved, and %q is held: %+v", held, p.Zones[0].Changes)
	}
	if held, _ := hash("--approve-plan=0000000000000000"); held != first {
		t.Errorf("another plan is approved: %q", held)
	}
}

// TestPlanJSONIsDocumented shows that the help describes all fields of the JSON output.
func TestPlanJSONIsDocumented(t *testing.T) {
	full := preview.Plan{
		Zones: []preview.Zone{{
			Held:    &preview.Held{Deletions: []preview.Change{}},
			Changes: []preview.Change{{SetIdentifier: "x", Old: &preview.Record{}, New: &preview.Record{TTL: 1, Properties: []dns.Property{{}}, Owner: "x", Resource: "x"}, Objects: []preview.Object{{Namespace: "x", Source: "x"}}}},
		}},
		Problems: []preview.Problem{{Zone: "x", Name: "x"}},
	}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([A-Za-z]+)":`).FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name != "value" && !regexp.MustCompile(`\b`+name+`\b`).MatchString(planHelp) {
			t.Errorf("the help lacks %s", name)
		}
	}
}

package recipes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// TestTutorial shows that the commands of the tutorial work in order, and print the output on the page. Only
// ports differ.
func TestTutorial(t *testing.T) {
	bin := programs(t)
	page := blocks(t, "tutorial.md")
	dir := t.TempDir()
	link(t, bin, filepath.Join(dir, "bin"))
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	link(t, deploy, filepath.Join(dir, "deploy"))
	admin, grpc, dns := kubetest.Address(t), kubetest.Address(t), kubetest.Address(t)
	_, dnsPort, _ := strings.Cut(dns, ":")
	ports := strings.NewReplacer("127.0.0.1:9996", admin, "127.0.0.1:8086", grpc, "5300", dnsPort)
	sh := newShell(t, bin, filepath.Join(dir, "tutorial/kubeconfig"))
	sh.dir = dir

	begin := func(name string) *programtest.Program { return sh.start(t, admin, ports.Replace(page[name])) }
	local := begin("cluster")
	kubetest.Eventually(t, 2*patience, func() error { _, err := os.Stat(filepath.Join(dir, "tutorial/kubeconfig")); return err })
	sh.await(t, "kubectl get serviceaccount default -o name", "serviceaccount/default")
	for _, file := range []string{"named.conf", "example.org.zone", "signpost.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, "tutorial", file), []byte(ports.Replace(page[file])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	awaitLog(t, local, page["cluster-out"])
	steps := 0
	for i := 1; page[fmt.Sprintf("step%d", i)] != ""; i++ {
		name := fmt.Sprintf("step%d", i)
		script, want := ports.Replace(page[name]), page[name+"-out"]
		switch i {
		case 2:
			begin("named")
			sh.await(t, "dig +short @127.0.0.1 -p "+dnsPort+" ns1.example.org", "127.0.0.1")
		case 3:
			signpost := begin("signpost")
			signpost.AwaitReady(t)
			awaitLog(t, signpost, ports.Replace(page["signpost-out"]))
		}
		if i == 1 || want == "" {
			out := sh.run(t, script) // it isn't idempotent, so it runs once
			if !prints(out, want) || i == 1 && strings.Contains(out, "web-") {
				t.Errorf("%s printed\n%s\nand the page shows\n%s", name, out, want)
			}
		} else {
			sh.await(t, script, want)
		}
		steps++
	}
	if steps != 11 {
		t.Errorf("the page has %d steps, want 11", steps)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// start starts a command of a page that runs until the end of the test.
func (s shell) start(t *testing.T, admin, command string) *programtest.Program {
	t.Helper()
	return start(t, "/bin", "sh", admin, s.env, "-euc", "cd "+s.dir+" && exec "+strings.TrimSpace(command))
}

// varying are the parts of outputs that differ between runs: times, a path, a version, addresses of pods and
// of a Service, zones, random parts of names, ages, and a random port.
var varying = []string{
	`\b20\d\d-\d\d-\d\dT[0-9:.]+Z`, `=/\S+/tutorial/kubeconfig`, `version=\S+`, `identity=\S+`,
	`\b10\.128\.\d+\.\d+\b`, `\b10\.96\.\d+\.\d+\b`, `\bzone-\d\b`, `\bweb-[0-9a-z]{8,10}-[0-9a-z]{5}\b`, `\bweb-[0-9a-z]{10}\b`,
	`\binstance=[0-9a-f]{16}\b`, `\b(?:\d+m)?\d+s\b|\b\d+m\b`, `\b[23]\d{4}\b`, `\bid: \d+\b`,
}

var anyVarying = regexp.MustCompile(strings.Join(varying, "|"))

// shown returns a pattern for an output on a page: its lines in order, with others between them. A varying
// part matches any text of its kind.
func shown(text string) *regexp.Regexp {
	text = strings.TrimSpace(text)
	var b strings.Builder
	for at := 0; at < len(text); {
		next := anyVarying.FindStringIndex(text[at:])
		if next == nil {
			next = []int{len(text) - at, len(text) - at}
		}
		b.WriteString(regexp.QuoteMeta(text[at : at+next[0]]))
		if part := text[at+next[0] : at+next[1]]; part != "" {
			b.WriteString("(?:" + kindOf(part) + ")")
		}
		at += next[1]
	}
	pattern := regexp.MustCompile(` +`).ReplaceAllString(b.String(), ` +`)
	return regexp.MustCompile(`(?m)^` + strings.ReplaceAll(pattern, "\n", `[ ]*\n(?s:.*\n)?`) + `[ ]*$`)
}

// kindOf returns the pattern of a varying part.
func kindOf(part string) string {
	return varying[slices.IndexFunc(varying, func(pattern string) bool {
		return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(part)
	})]
}

// prints reports whether an output matches that on a page. Addresses of pods that are equal on the page must
// be equal in the output, and different ones must differ.
func prints(out, page string) bool {
	pattern := regexp.MustCompile(`\b10\.128\.\d+\.\d+\b`)
	pods := func(text string) int {
		all := pattern.FindAllString(text, -1)
		slices.Sort(all)
		return len(slices.Compact(all))
	}
	part := shown(page).FindString(out)
	return strings.TrimSpace(page) == "" || part != "" && (pods(page) == 0 || pods(part) == pods(page))
}

// TestPrints shows that an output matches only if all but the varying parts is equal.
func TestPrints(t *testing.T) {
	for _, c := range []struct {
		page, out string
		want      bool
	}{
		{"", "service/web annotated\n", true},
		{"10.128.0.1:80  pod/web-788d98d6f4-8vd9g  7s", "10.128.32.7:80    pod/web-5d4f8c7b9-x2k4q  1m12s\n", true},
		{"10.128.0.1:80  pod/web-788d98d6f4-8vd9g", "10.128.0.1:80  pod/api-788d98d6f4-8vd9g\n", false},
		{"10.128.0.1:80  10000", "10.128.0.1:80  20000\n", false},
		{"10.128.0.1:80  10000", "10.129.0.1:80  10000\n", false},
		{"10.128.0.1,10.128.0.2\n10.128.0.1\n10.128.0.2", "10.128.0.9,10.128.0.8\n10.128.0.8\n10.128.0.9\n", true},
		{"10.128.0.1,10.128.0.2\n10.128.0.1\n10.128.0.2", "10.128.0.9,10.128.0.8\n10.128.0.8\n10.128.0.7\n", false},
		{"a  b\nc", "first\na b\nbetween\nc\nlast\n", true},
		{"a  b\nc", "a b\n", false},
		{"a  b\nc", "c\na b\n", false},
	} {
		if got := prints(c.out, c.page); got != c.want {
			t.Errorf("%q for %q: %v, want %v", c.out, c.page, got, c.want)
		}
	}
}

// awaitLog waits until a program has logged the lines on a page, in any order, because roles start in
// parallel.
func awaitLog(t *testing.T, p *programtest.Program, page string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		log := p.Log.String()
		for line := range strings.Lines(page) {
			if !prints(log, line) {
				return fmt.Errorf("the log has\n%s\nand the page shows\n%s", log, page)
			}
		}
		return nil
	})
}

// await repeats a command until its output matches the page.
func (s shell) await(t *testing.T, script, page string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		out, err := s.try(t, script)
		if err == nil && !prints(out, page) {
			err = fmt.Errorf("%s\nprinted\n%s\nand the page shows\n%s", script, out, page)
		}
		return err
	})
}

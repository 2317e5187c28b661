// Package specrefs tests that citations of docs/spec, and links between pages, have existing targets.
// docs/spec/README.md defines how to cite.
package specrefs

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// defaults are the documents that a file may cite without their name, by the beginning of its path.
var defaults = map[string]string{
	"app/process/testdata/":       "destination",
	"catalog/":                    "destination endpoints",
	"cmd/signpost/testdata/plan/": "dns",
	"controllers/":                "endpoints destination",
	"destination/":                "destination endpoints",
	"dev/xds/":                    "xds",
	"dns/":                        "dns clouds",
	"docs/dns":                    "dns clouds",
	"docs/spec/clouds":            "clouds",
	"docs/spec/destination":       "destination endpoints",
	"docs/spec/dns":               "dns",
	"docs/spec/endpoints":         "endpoints destination",
	"docs/spec/xds":               "xds",
	"docs/xds":                    "xds",
	"kube/":                       "destination endpoints",
	"xds/":                        "xds",
}

var (
	headingNumber = regexp.MustCompile(`^#+ +(?:Appendix ([A-Z])\b|([0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)+)\.? )`)
	itemNumber    = regexp.MustCompile(`^(?:([0-9]+\.[0-9]+) |(?:\| )?([0-9]+)(?:\.| \|) )`)
	caseNames     = regexp.MustCompile(`^\| ([A-Z]{1,2}-?[0-9]+(?: ([a-z])–([a-z]))?(?:, [A-Z]{1,2}-?[0-9]+)*) \|`)
	// citation matches a document; a section of an RFC; a section; the name of a case; the numbers of cases.
	citation = regexp.MustCompile(`\bspec/([a-z]+)\.md\b|(RFC +[0-9]+,? +§)|(§ ?(?:[0-9]+|[A-Z])(?:\.[0-9]+)*)` +
		`|\b([A-Z]{2}-[0-9]{2}[a-z]?|[A-Z]{1,2}[0-9]{1,2})\b|\b[Cc]ases?\s+([0-9]+(?:(?:,|,? and|,? to)\s+[0-9]+)*)\b`)
	number    = regexp.MustCompile(`[0-9]+`)
	goText    = regexp.MustCompile("(?://|\"|`).*")
	beginning = regexp.MustCompile(`^\s*(?:[|*-] |#+ [A-Z0-9]|[0-9]+\. |$)`)
	link      = regexp.MustCompile(`\]\(([^()\s:]+)\)`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^()\s]*\)`)
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading   = regexp.MustCompile(`(?m)^#+ +(.*?)\s*$`)
)

// citable returns the sections of a document ("§8.4", and "§8.4.2" for an item or a row of a table) and its
// cases: names such as "EP-17", and the numbers of the items of sections about acceptance cases. The result
// also has the kind of each of them.
func citable(text string) map[string]bool {
	all := map[string]bool{}
	add := func(cited string) { all[cited], all[kind(cited)] = true, true }
	section, casesIn := "", ""
	for line := range strings.Lines(text) {
		if m := headingNumber.FindStringSubmatch(line); m != nil {
			section = m[1] + m[2]
			add("§" + section)
			if strings.Contains(line, "acceptance cases") {
				casesIn = section + "."
			}
		} else if m := itemNumber.FindStringSubmatch(line); m != nil && m[1] != "" {
			add("§" + m[1])
		} else if m != nil {
			add("§" + section + "." + m[2])
			if casesIn != "" && strings.HasPrefix(section+".", casesIn) {
				add(m[2])
			}
		} else if m := caseNames.FindStringSubmatch(strings.ReplaceAll(line, "*", "")); m != nil {
			for name := range strings.SplitSeq(m[1], ", ") {
				name, _, _ = strings.Cut(name, " ")
				add(name)
				for letter := 'a'; m[2] != "" && string(letter) <= m[3]; letter++ {
					add(name + string(letter))
				}
			}
		}
	}
	return all
}

// kind returns "§" for a section, and the prefix of the number of a case with a sign: "EP-#", "#".
func kind(cited string) string {
	if strings.HasPrefix(cited, "§") {
		return "§"
	}
	before, _, _ := strings.Cut(number.ReplaceAllString(cited, "#"), "#")
	return before + "#"
}

// danglingCitations returns a sentence for each citation in a file without a target. A named document applies
// to the end of the comment, paragraph, item or row. A word counts as a case if a document has cases of that
// kind.
func danglingCitations(documents map[string]map[string]bool, file, text string) []string {
	var dangling, usual []string
	for prefix, names := range defaults {
		if strings.HasPrefix(file, prefix) {
			usual = strings.Fields(names)
		}
	}
	inGo, named := strings.HasSuffix(file, ".go"), ""
	for i, line := range strings.Split(text, "\n") {
		complain := func(format string, arguments ...any) {
			dangling = append(dangling, fmt.Sprintf("%s:%d: ", file, i+1)+fmt.Sprintf(format, arguments...))
		}
		if inGo {
			line = goText.FindString(line)
		}
		if inGo && !strings.HasPrefix(line, "//") || !inGo && beginning.MatchString(line) {
			named = ""
		}
		for _, m := range citation.FindAllStringSubmatch(line, -1) {
			document, section, name, numbers := m[1], strings.ReplaceAll(m[3], " ", ""), m[4], m[5]
			cited := append(number.FindAllString(numbers, -1), section+name)
			in := usual
			switch {
			case document != "":
				if named = document; documents[document] == nil {
					complain("there is no docs/spec/%s.md", document)
				}
			case section != "" && named != "":
				in = nil
			case section != "" && len(usual) == 0:
				complain("%s is of no document: write the document before it, as in spec/dns.md %[1]s", section)
			case len(usual) == 0:
				in = slices.Sorted(maps.Keys(documents))
			}
			for _, c := range cited {
				var without []string
				for _, d := range append([]string{named}, in...) {
					if documents[d][c] {
						without = nil
						break
					}
					if documents[d][kind(c)] {
						without = append(without, "spec/"+d+".md")
					}
				}
				if c != "" && without != nil {
					complain("%s is not in %s", c, strings.Join(without, ", "))
				}
			}
		}
	}
	return dangling
}

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		slug := strings.Map(func(r rune) rune {
			if r == ' ' {
				return '-'
			}
			if r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, linkText.ReplaceAllString(m[1], "$1"))
		anchor := slug
		for n := 1; all[anchor]; n++ { // equal headings are numbered
			anchor = fmt.Sprintf("%s-%d", slug, n)
		}
		all[anchor] = true
	}
	return all
}

// danglingLinks returns a sentence for each relative link of a page to a missing file or heading. Targets are
// all files and directories, with the anchors of pages.
func danglingLinks(targets map[string]map[string]bool, page, text string) []string {
	var dangling []string
	for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "code"), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		file := page
		if target != "" {
			file = path.Join(path.Dir(page), target)
		}
		if found, exists := targets[file]; !exists {
			dangling = append(dangling, fmt.Sprintf("%s: there is no %s, which %s leads to", page, file, m[1]))
		} else if anchor != "" && !found[anchor] {
			dangling = append(dangling, fmt.Sprintf("%s: %s has no heading #%s", page, file, anchor))
		}
	}
	return dangling
}

func TestRepository(t *testing.T) {
	files, targets, documents := map[string]string{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		relative := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (entry.Name() == "bin" || relative == "dist" || relative == "dev/lab/out" || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") || path.Ext(relative) == ".sum" || path.Ext(relative) == ".png":
			targets[relative] = nil
			return nil
		}
		text, err := os.ReadFile(name) // by package os, so that a cached result is forgotten when a file changes
		if bytes.IndexByte(text, 0) < 0 {
			files[relative], targets[relative] = string(text), nil
		}
		if path.Ext(relative) == ".md" {
			targets[relative] = anchors(string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if name, isSpec := strings.CutPrefix(file, "docs/spec/"); isSpec && name != "README.md" {
			documents[strings.TrimSuffix(name, ".md")] = citable(text)
		}
	}
	for file, text := range files {
		var dangling []string
		if file != "internal/specrefs/specrefs_test.go" { // cites what is missing
			dangling = danglingCitations(documents, file, text)
		}
		if path.Ext(file) == ".md" {
			dangling = append(dangling, danglingLinks(targets, file, text)...)
		}
		for _, sentence := range dangling {
			t.Error(sentence)
		}
	}
}

// Every form of citation, and every kind of link, can dangle.
func TestDangling(t *testing.T) {
	documents := map[string]map[string]bool{
		"destination": citable("## 2. Get\n### 2.7 Server\n1. first\n| G1 | a |\n| K1, **K3** | b |\n## Appendix A — Inputs\n### A.4 Owners\n"),
		"endpoints":   citable("## 5. Sync\n| EP-26 a–c | ExternalName |\n| K12 | label |\n"),
		"dns":         citable("# 6. Sources\n1. no case\n| 14 | a row |\n# 14. Scenarios (acceptance cases)\n## 14.1 Plan\n1. first\n2. second\n"),
	}
	targets := map[string]map[string]bool{"docs": nil, "docs/a.md": anchors("# Twice\n# Twice\n# `Get` — [in](x) place\n```\n# shell\n```\n"), "b.go": nil}
	for text, want := range map[string]string{
		"run/a.go: // spec/dns.md §6.14 and §14.1, spec/destination.md §2.7.1, §A.4, §A": "",
		"run/a.go: // spec/dns.md §6.2":                             "§6.2 is not in spec/dns.md",
		"run/a.go: // spec/other.md §6":                             "there is no docs/spec/other.md",
		"run/a.go: // (spec/dns.md\n// §6.3)":                       "a.go:2: §6.3 is not in spec/dns.md",
		"run/a.go: // spec/dns.md §6\n\n// §6":                      "a.go:3: §6 is of no document",
		"run/a.go: // spec/destination.md §A.5":                     "§A.5 is not in",
		"run/a.go: // spec/destination.md §2.1":                     "§2.1 is not in", // begins like §2.10
		"run/a.go: // RFC 9110 §10.2.3 and RFC 2136, §3.4, SHA1":    "",
		"run/a.go: // spec/endpoints.md case EP-26d":                "EP-26d is not in",
		"run/a.go: // K3, K12":                                      "",
		"run/a.go: // K99":                                          "K99 is not in",
		"catalog/a.go: // §2.7, K12":                                "",
		"catalog/a.go: // §6":                                       "§6 is not in spec/destination.md, spec/endpoints.md",
		"catalog/a.go: func K13[G2 any]() {}":                       "",
		"controllers/a_test.go: \"EP-26d web\": {},":                "EP-26d is not in spec/endpoints.md",
		"dns/a.go: // Case 1, cases 1 and 2":                        "",
		"dns/a.go: // cases 1 to 3":                                 "3 is not in spec/dns.md",
		"app/process/testdata/script/a.txtar: G2 A story":           "G2 is not in",
		"docs/b.md: spec/dns.md §6\n§6\n\n§6":                       "b.md:4: §6 is of no document",
		"docs/b.md: | spec/dns.md §6 |\n| §6 |":                     "b.md:2: §6 is of no document",
		"docs/b.md: [a](a.md#twice-1) [b](../b.go) [c](../docs)":    "",
		"docs/b.md: [a](a.md#get--in-place) `[b](c)` [c](http://d)": "",
		"docs/b.md: [a](b.go)":                                      "there is no docs/b.go",
		"docs/b.md: [a](a.md) [b](a.md#shell)":                      "docs/a.md has no heading #shell",
	} {
		file, text, _ := strings.Cut(text, ": ")
		got := append(danglingCitations(documents, file, text), danglingLinks(targets, file, text)...)
		if all := strings.Join(got, "\n"); want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(all, want)) {
			t.Errorf("%s: got %q, want %q", text, all, want)
		}
	}
}

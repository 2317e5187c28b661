package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

// set reads a record set: "NAME TYPE TARGET,TARGET [key=value…]", where a key is set (the set
// identifier), ttl, own, res or team (labels), for (an object), or else a property.
func set(text string) *dns.RecordSet {
	fields := strings.Fields(text)
	r := &dns.RecordSet{Name: fields[0], Type: fields[1], Targets: strings.Split(fields[2], ","), Labels: map[string]string{}}
	for _, field := range fields[3:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "set":
			r.SetIdentifier = value
		case "ttl":
			if _, err := fmt.Sscan(value, &r.TTL); err != nil {
				panic(err)
			}
		case "own":
			r.Labels[dns.LabelOwner] = value
		case "res":
			r.Labels[dns.LabelResource] = value
		case "team":
			r.Labels["team"] = value
		case "for":
			r.Objects = append(r.Objects, dns.Object{Name: value})
		default:
			r.Properties = append(r.Properties, dns.Property{Name: key, Value: value})
		}
	}
	return r
}

// sets reads a record set of each line.
func sets(lines string) []*dns.RecordSet {
	var all []*dns.RecordSet
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, set(line))
		}
	}
	return all
}

// current is like sets; a line that begins with "rewrite" has to be rewritten.
func current(lines string) []Current {
	var all []Current
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		line, rewrite := strings.CutPrefix(line, "rewrite ")
		all = append(all, Current{Set: set(line), RewriteOwnership: rewrite})
	}
	return all
}

// show is the reverse of set, labels and properties sorted.
func show(r *dns.RecordSet) string {
	parts := []string{r.Name, r.Type, strings.Join(r.Targets, ",")}
	if r.SetIdentifier != "" {
		parts = append(parts, "set="+r.SetIdentifier)
	}
	if r.TTL != 0 {
		parts = append(parts, fmt.Sprintf("ttl=%d", r.TTL))
	}
	if owner, ok := r.Labels[dns.LabelOwner]; ok {
		parts = append(parts, "own="+owner)
	}
	if resource, ok := r.Labels[dns.LabelResource]; ok {
		parts = append(parts, "res="+resource)
	}
	if team, ok := r.Labels["team"]; ok {
		parts = append(parts, "team="+team)
	}
	for _, o := range r.Objects {
		parts = append(parts, "for="+o.Name)
	}
	for _, p := range slices.SortedFunc(slices.Values(r.Properties), func(a, b dns.Property) int { return cmp.Compare(a.Name, b.Name) }) {
		parts = append(parts, p.Name+"="+p.Value)
	}
	return strings.Join(parts, " ")
}

// transcript returns a line for each change, conflict and refusal.
func transcript(o Outcome) string {
	var b strings.Builder
	for _, c := range o.Changes {
		switch {
		case c.Old == nil:
			fmt.Fprintf(&b, "+ %s\n", show(c.New))
		case c.New == nil:
			fmt.Fprintf(&b, "- %s\n", show(c.Old))
		default:
			fmt.Fprintf(&b, "~ %s > %s\n", show(c.Old), show(c.New))
		}
	}
	for _, c := range o.Conflicts {
		fmt.Fprintf(&b, "! %s: %s is %s\n", show(c.Wanted), show(c.Current), c.Obstacle)
	}
	return b.String()
}

// losers returns a line for each candidate that isn't published. It says "keeps" if the winner had
// the name before, else "gets".
func losers(o Outcome) string {
	var b strings.Builder
	for _, l := range o.Lost {
		how := "gets"
		if l.Holder {
			how = "keeps"
		}
		fmt.Fprintf(&b, "lost %s: %s %s\n", show(l.Set), show(l.Winner), how)
	}
	return b.String()
}

func everything(o Outcome) string { return transcript(o) + losers(o) }

func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

type testCase struct {
	name    string
	policy  Policy
	owner   string
	old     string
	managed string
	exclude string
	// oneLabel is that of the rules.
	oneLabel bool
	current  string
	wanted   string
	want     string
	// lost are the expected losers; empty means that the case doesn't check them.
	lost string
}

func (c testCase) rules() *Rules {
	rules := &Rules{Policy: Policy(cmp.Or(string(c.policy), string(Sync))), Owner: c.owner, OldOwner: c.old, Managed: DefaultManaged(), OneLabel: c.oneLabel}
	if c.managed != "" {
		rules.Managed = strings.Fields(c.managed)
	}
	if c.managed == "none" {
		rules.Managed = nil
	}
	rules.Excluded = strings.Fields(c.exclude)
	return rules
}

// run decides the case in several orders of its inputs.
func (c testCase) run(t *testing.T) {
	have, wanted := current(c.current), sets(c.wanted)
	for range 2 {
		out := decideAll(have, wanted, c.rules())
		if diff := gocmp.Diff(lines(c.want), transcript(out)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := gocmp.Diff(lines(c.lost), losers(out)); c.lost != "" && diff != "" {
			t.Errorf("losers (-want +got):\n%s", diff)
		}
		slices.Reverse(have)
		slices.Reverse(wanted)
	}
}

func TestCases(t *testing.T) {
	for _, c := range slices.Concat(choiceCases, holderCases, differenceCases, typeCases, ruleCases, ownerCases, labelCases) {
		t.Run(c.name, c.run)
	}
}

// The arguments are not changed, and the results share no memory with them that may change.
func TestInputsAreUnchanged(t *testing.T) {
	have := current("foo.com A 2.2.2.2,1.1.1.1 own=me res=a")
	wanted := sets("FOO.com A 4.4.4.4,3.3.3.3 res=b x=1\nfoo.com AAAA ::2,::1 res=b")
	out := Name(have, candidates(wanted...), &Rules{Policy: Sync, Owner: "me", Managed: DefaultManaged()})
	for _, c := range out.Changes {
		c.New.Targets[0], c.New.Labels[dns.LabelResource] = "9.9.9.9", "z"
		if len(c.New.Properties) > 0 {
			c.New.Properties[0].Value = "9"
		}
	}
	for i, want := range []string{"foo.com A 2.2.2.2,1.1.1.1 own=me res=a", "FOO.com A 4.4.4.4,3.3.3.3 res=b x=1", "foo.com AAAA ::2,::1 res=b"} {
		if got := show([]*dns.RecordSet{have[0].Set, wanted[0], wanted[1]}[i]); got != want {
			t.Errorf("input is now %s, was %s", got, want)
		}
	}
	if len(out.Changes) != 2 {
		t.Errorf("%d changes, want 2", len(out.Changes))
	}
}

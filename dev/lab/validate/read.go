package validate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/dev/lab/model"
)

// reader reads what streams have said of addresses. It reads each text once.
type reader struct{ texts map[string]readText }

type readText struct {
	said *pb.WeightedAddr
	err  error
}

func newReader() *reader { return &reader{texts: map[string]readText{}} }

func (r *reader) text(text string) readText {
	t, ok := r.texts[text]
	if !ok {
		t.said, t.err = model.ReadAddress(text)
		r.texts[text] = t
	}
	return t
}

// read returns what a client of f knows.
func (f *follower) read(addresses map[string]string) (now told, problems []string) {
	now = make(told, len(addresses))
	for at, text := range addresses {
		a, err := netip.ParseAddrPort(at)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%.100q is no address", at))
			continue
		}
		t := f.text(text)
		if t.err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", at, t.err))
			continue
		}
		now[a] = f.workloadSaid(t.said)
	}
	return now, problems
}

func (f *follower) workloadSaid(said *pb.WeightedAddr) int32 {
	w := model.WorkloadSaid(said, f.target.Namespace)
	if w == (model.Workload{}) {
		return none
	}
	if n, ok := f.numbers[w]; ok {
		return n
	}
	return unheard
}

// meet returns the latest position that is not after any of a list, which isn't empty.
func meet(list []position) position {
	out := slices.Clone(list[0])
	for _, p := range list[1:] {
		for i := range p {
			out[i] = min(out[i], p[i])
		}
	}
	return out
}

// difference says how an answer differs from the newest state.
func (f *follower) difference(q question) string {
	served := map[netip.AddrPort]bool{}
	for _, a := range f.servedAt(q.until) {
		served[a] = true
	}
	var extra, lacks []string
	for a, w := range q.told {
		switch {
		case !served[a]:
			extra = append(extra, a.String())
		case w == unheard:
			extra = append(extra, a.String()+" of another workload")
		}
	}
	for a := range maps.Keys(served) {
		if _, ok := q.told[a]; !ok {
			lacks = append(lacks, a.String())
		}
	}
	slices.Sort(extra)
	slices.Sort(lacks)
	switch {
	case len(extra)+len(lacks) == 0:
		return fmt.Sprintf("%d addresses, those of the slices at the time, perhaps of other workloads", len(q.told))
	case len(extra) == 0:
		return fmt.Sprintf("of the slices at the time, it lacks %s", some(lacks))
	case len(lacks) == 0:
		return fmt.Sprintf("it has %s, which the slices at the time don't serve", some(extra))
	}
	return fmt.Sprintf("it has %s, which the slices at the time don't serve, and lacks %s", some(extra), some(lacks))
}

// mostShown is how many items of a list are mostShown.
const mostShown = 5

func some(items []string) string {
	if len(items) <= mostShown {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:mostShown], ", "), len(items)-mostShown)
}

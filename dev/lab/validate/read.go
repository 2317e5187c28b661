package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/dev/lab/history"
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

// knownAddress is what a client knows of an address.
type knownAddress struct {
	toldAddress
	text string
}

// apply brings what the client of f knows to what an update says. news is false if it says nothing that wasn't known.
func (f *follower) apply(u *history.Stream) (news bool, problems []string) {
	for _, at := range u.Removed {
		if _, ok := f.known[at]; ok {
			delete(f.known, at)
			news = true
		}
	}
	for _, at := range u.Added {
		text, ok := u.Addresses[at]
		if before, known := f.known[at]; !ok || known && before.text == text {
			continue
		}
		news = true
		if problem := f.learn(at, text); problem != "" {
			problems = append(problems, problem)
		}
	}
	return news, problems
}

// learn notes what was said of an address.
func (f *follower) learn(at, text string) (problem string) {
	address, err := netip.ParseAddrPort(at)
	if err != nil {
		return fmt.Sprintf("%.100q is no address", at)
	}
	known := knownAddress{toldAddress{f.address(address), unheard}, text}
	if t := f.text(text); t.err != nil {
		problem = fmt.Sprintf("%s: %v", at, t.err)
	} else {
		known.workload = f.workloadSaid(t.said)
	}
	f.known[at] = known
	return problem
}

// ask returns the question what is behind all that the client knows.
func (f *follower) asked(since, until time.Duration) question {
	q := question{since: since, until: until}
	for _, k := range f.known {
		q.told = append(q.told, k.toldAddress)
		q.need = append(q.need, k.address)
	}
	return q
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
	served := map[string]bool{}
	for _, a := range f.servedAt(q.until) {
		served[a.String()] = true
	}
	var extra, lacks []string
	for at, k := range f.known {
		switch {
		case !served[at]:
			extra = append(extra, at)
		case k.workload == unheard:
			extra = append(extra, at+" of another workload")
		}
	}
	for at := range served {
		if _, ok := f.known[at]; !ok {
			lacks = append(lacks, at)
		}
	}
	slices.Sort(extra)
	slices.Sort(lacks)
	switch {
	case len(extra)+len(lacks) == 0:
		return fmt.Sprintf("it has the %d addresses of the slices at the time, some perhaps of other workloads", len(q.told))
	case len(extra) == 0:
		return fmt.Sprintf("of the slices at the time, it lacks %s", some(lacks))
	case len(lacks) == 0:
		return fmt.Sprintf("it has %s, which the slices at the time don't serve", some(extra))
	}
	return fmt.Sprintf("it has %s, which the slices at the time don't serve, and lacks %s", some(extra), some(lacks))
}

// mostShown is how many items of a list are shown.
const mostShown = 5

func some(items []string) string {
	if len(items) <= mostShown {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:mostShown], ", "), len(items)-mostShown)
}

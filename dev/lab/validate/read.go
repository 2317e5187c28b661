package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// reader parses the recorded texts of addresses, each text once.
type reader struct{ texts map[string]readText }

type readText struct {
	address *pb.WeightedAddr
	err     error
}

func newReader() *reader { return &reader{texts: map[string]readText{}} }

func (r *reader) text(text string) readText {
	t, ok := r.texts[text]
	if !ok {
		t.address, t.err = model.ReadAddress(text)
		r.texts[text] = t
	}
	return t
}

// knownAddress is an address that a client knows.
type knownAddress struct {
	reportedAddress
	text string
}

// apply adds an update to the addresses that the client knows. changed is false if the update contains
// nothing new.
func (f *follower) apply(u *history.Stream) (changed bool, problems []string) {
	for _, at := range u.Removed {
		if _, ok := f.known[at]; ok {
			delete(f.known, at)
			changed = true
		}
	}
	for _, at := range u.Added {
		text, ok := u.Addresses[at]
		if before, known := f.known[at]; !ok || known && before.text == text {
			continue
		}
		changed = true
		if problem := f.learn(at, text); problem != "" {
			problems = append(problems, problem)
		}
	}
	return changed, problems
}

// learn stores the reported text of an address.
func (f *follower) learn(at, text string) (problem string) {
	address, err := netip.ParseAddrPort(at)
	if err != nil {
		return fmt.Sprintf("%.100q is no address", at)
	}
	known := knownAddress{reportedAddress{f.address(address), unknownWorkload}, text}
	if t := f.text(text); t.err != nil {
		problem = fmt.Sprintf("%s: %v", at, t.err)
	} else {
		known.workload = f.workloadOf(t.address)
	}
	f.known[at] = known
	return problem
}

// query returns a query for all addresses that the client knows.
func (f *follower) query(since, until time.Duration) query {
	q := query{since: since, until: until}
	for _, k := range f.known {
		q.reported = append(q.reported, k.reportedAddress)
		q.need = append(q.need, k.address)
	}
	return q
}

func (f *follower) workloadOf(reported *pb.WeightedAddr) int32 {
	w := model.ReportedWorkload(reported, f.target.Namespace)
	if w == (model.Workload{}) {
		return noWorkload
	}
	if n, ok := f.numbers[w]; ok {
		return n
	}
	return unknownWorkload
}

// meet returns the latest position that is not after any of a non-empty list.
func meet(list []position) position {
	out := slices.Clone(list[0])
	for _, p := range list[1:] {
		for i := range p {
			out[i] = min(out[i], p[i])
		}
	}
	return out
}

// difference describes how an update differs from the newest state.
func (f *follower) difference(q query) string {
	served := map[string]bool{}
	for _, a := range f.servedAt(q.until) {
		served[a.String()] = true
	}
	var extra, lacks []string
	for at, k := range f.known {
		switch {
		case !served[at]:
			extra = append(extra, at)
		case k.workload == unknownWorkload:
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
		return fmt.Sprintf("it has the %d addresses of the slices at the time, some perhaps of other workloads", len(q.reported))
	case len(extra) == 0:
		return fmt.Sprintf("of the slices at the time, it lacks %s", some(lacks))
	case len(lacks) == 0:
		return fmt.Sprintf("it has %s, which the slices at the time don't serve", some(extra))
	}
	return fmt.Sprintf("it has %s, which the slices at the time don't serve, and lacks %s", some(extra), some(lacks))
}

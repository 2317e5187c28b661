package validate

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// settledWriters returns the part of V1 about written objects.
func settledWriters() Validator {
	return Validator{
		Name: "V1",
		Rule: "When everything is calm, slices, Endpoints and the records of Signpost are those of the model, and no others.",
		Check: func(h history.History) []Finding {
			at, ok := calmEnd(h)
			if !ok {
				return []Finding{{"V1", 0, "run", "the history has no time at which everything was calm."}}
			}
			c := &settledCheck{at: at, namespace: h.Setup.Namespace, state: stateAt(h, at)}
			c.slices()
			c.endpoints()
			for _, zone := range h.Setup.Zones {
				c.records(h, zone)
			}
			return c.findings
		},
	}
}

// settledCheck compares the last state with the model.
type settledCheck struct {
	at        time.Duration
	namespace string
	state     *model.State
	findings  []Finding
}

func (c *settledCheck) report(subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{"V1", c.at, subject, fmt.Sprintf(format, args...)})
}

// slices compares the slices of each existing Service.
func (c *settledCheck) slices() {
	have := map[string][]discoveryv1.EndpointSlice{}
	for _, slice := range model.All[discoveryv1.EndpointSlice](c.state, "endpointslices", c.namespace) {
		name := slice.Labels[discoveryv1.LabelServiceName]
		have[name] = append(have[name], slice)
	}
	for _, service := range model.All[corev1.Service](c.state, "services", c.namespace) {
		want := model.WantSlices(c.state, c.namespace, service.Name)
		for _, writer := range []model.Writer{model.SliceWriter, model.MirrorWriter, model.WorkloadWriter} {
			// A Service that loses its selector keeps its slices and Endpoints (docs/spec/endpoints.md
			// §13.3).
			if writer != model.MirrorWriter && !model.HasSelector(&service) {
				continue
			}
			c.service(&service, writer, want[writer], have[service.Name])
		}
	}
}

// service compares the slices of one Service and writer.
func (c *settledCheck) service(service *corev1.Service, writer model.Writer, want []model.Entry, all []discoveryv1.EndpointSlice) {
	var got []model.Entry
	families := map[discoveryv1.AddressType]bool{}
	for _, slice := range all {
		if w, _ := model.WriterOf(&slice); w != writer {
			continue
		}
		owner := metav1.GetControllerOf(&slice)
		if writer != model.MirrorWriter && (owner == nil || owner.UID != service.UID) {
			c.report("slice "+slice.Name, "it belongs to a Service %s that was there before the present one, and should be gone.", service.Name)
			continue
		}
		families[slice.AddressType] = true
		got = append(got, model.SliceEntries(&slice)...)
	}
	c.compare(fmt.Sprintf("slices of %s by %s", service.Name, writer), want, got)
	if writer != model.SliceWriter {
		return
	}
	for _, family := range model.Families(service) {
		if !families[family] {
			c.report("slices of "+service.Name, "there is none of family %s. Without endpoints there has to be an empty one.", family)
		}
	}
}

// endpoints compares the Endpoints of each Service, and reports Endpoints without Service.
func (c *settledCheck) endpoints() {
	for _, service := range model.All[corev1.Service](c.state, "services", c.namespace) {
		want, ours := model.WantEndpoints(c.state, c.namespace, service.Name)
		if !ours {
			continue
		}
		have, ok := model.Get[corev1.Endpoints](c.state, "endpoints", c.namespace, service.Name)
		if !ok {
			c.report("endpoints "+service.Name, "there are none, although the Service has a selector.")
			continue
		}
		c.compare("endpoints "+service.Name, want, model.EndpointsEntries(have))
	}
	for _, v := range c.state.Versions("endpoints", c.namespace) {
		if c.state.Version("services", c.namespace, v.Name) == nil {
			c.report("endpoints "+v.Name, "there is no Service of this name.")
		}
	}
}

// compare reports missing and surplus entries.
func (c *settledCheck) compare(subject string, want, got []model.Entry) {
	count := map[model.Entry]int{}
	for _, e := range want {
		count[e]++
	}
	for _, e := range got {
		count[e]--
	}
	var missing, surplus []string
	for e, n := range count {
		switch {
		case n > 0:
			missing = append(missing, quoted(e.String()))
		case n < 0:
			surplus = append(surplus, quoted(e.String()))
		}
	}
	for _, part := range []struct {
		problem string
		entries []string
	}{{"is missing", missing}, {"is there and shouldn't be", surplus}} {
		if len(part.entries) > 0 {
			slices.Sort(part.entries)
			c.report(subject, "%s %s.", some(part.entries), part.problem)
		}
	}
}

// records compares the records of a zone.
func (c *settledCheck) records(h history.History, zone string) {
	state, err := zoneAt(h, zone, c.at)
	if err != nil {
		c.report("zone "+zone, "it can't be read: %v.", err)
		return
	}
	owner := h.Setup.Owner
	want := model.WantRecords(c.state, c.namespace, []string{zone})
	for key, sets := range want {
		set := recordSet{key.Name, dns.StringToType[key.Type]}
		switch records := state[set]; {
		case len(records) > 0 && state.owned(set, owner):
			c.recordSet(set, sets, records)
		// A name with any record of another owner belongs to that owner.
		case !state.ownedByOthers(key.Name, owner):
			c.report("record "+set.String(), "it is missing: %s asks for %s.", strings.Join(sets[0].Objects, " and "), strings.Join(sets[0].Targets, ", "))
		}
	}
	for set, records := range state {
		if _, wanted := want[model.RecordKey{Name: set.name, Type: dns.TypeToString[set.kind]}]; wanted || !state.owned(set, owner) {
			continue
		}
		for _, r := range records {
			c.report("record "+set.String(), "%s has an ownership record of owner %q, and no object asks for it.", quotedRecords(r), owner)
			break
		}
	}
}

// recordSet compares a record set of Signpost with the acceptable ones.
func (c *settledCheck) recordSet(set recordSet, want []model.RecordSet, records map[string]zoneRecord) {
	var have []string
	var all []zoneRecord
	var ttl int64
	for _, r := range records {
		data := r.data
		if set.kind == dns.TypeTXT {
			if _, ownership := r.owner(); ownership {
				continue
			}
			data = r.text
		}
		have, all, ttl = append(have, data), append(all, r), int64(r.ttl)
	}
	slices.Sort(have)
	for _, w := range want {
		if slices.Equal(w.Targets, have) && (w.TTL == 0 || w.TTL == ttl) {
			return
		}
	}
	c.report("record "+set.String(), "it is %s, and should be %s with TTL %d for %s (0 stands for any).",
		quotedRecords(all...), strings.Join(want[0].Targets, ", "), want[0].TTL, strings.Join(want[0].Objects, " and "))
}

// ownedByOthers reports whether a name has records that aren't Signpost's.
func (z zoneState) ownedByOthers(name, owner string) bool {
	for _, kind := range ownershipTypes {
		set := recordSet{name, kind}
		for _, r := range z[set] {
			if o, ownership := r.owner(); !z.owned(set, owner) && (!ownership || o != owner) {
				return true
			}
		}
	}
	return false
}

// zoneAt returns the state of a zone at a time.
func zoneAt(h history.History, name string, at time.Duration) (zoneState, error) {
	out := zoneState{}
	for _, e := range h.Entries {
		if e.Zone == nil || e.At > at || !strings.EqualFold(dns.Fqdn(e.Zone.Name), dns.Fqdn(name)) {
			continue
		}
		d, err := deltaOf(*e.Zone)
		if err != nil {
			return nil, fmt.Errorf("serial %d: %w", e.Zone.Serial, err)
		}
		if e.Zone.Whole {
			out = zoneState{}
		}
		out.apply(d)
	}
	return out, nil
}

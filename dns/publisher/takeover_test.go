package publisher

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
)

// recordOf returns a record set as an object of a namespace asks for it through a source.
func recordOf(from, namespace, object, recordType, target string, ttl int64) *dns.RecordSet {
	return &dns.RecordSet{
		Name: "www." + zoneName, Type: recordType, Targets: []string{target}, TTL: ttl,
		Labels:  map[string]string{dns.LabelResource: from + "/" + namespace + "/" + object},
		Objects: []dns.Object{{Kind: from, Namespace: namespace, Name: object, Source: from}},
	}
}

// An object of another namespace can't take a record, neither by its source or label with an
// adjusting provider nor by asking for an A beside a CNAME (tenants S1 and S2).
func TestHolderKeepsTheName(t *testing.T) {
	for name, test := range map[string]struct {
		victim, evil *dns.RecordSet
		want         string
	}{
		"S1 a: CNAME, later label":      {recordOf("service", "bank", "web", "CNAME", "lb.example.net", 60), recordOf("service", "tenantb", "evil", "CNAME", "evil.example.net", 60), "www.shop.test CNAME lb.example.net"},
		"S1 a: CNAME, earlier label":    {recordOf("service", "bank", "web", "CNAME", "lb.example.net", 60), recordOf("service", "aaa", "evil", "CNAME", "evil.example.net", 60), "www.shop.test CNAME lb.example.net"},
		"S1 b: A of a later source":     {recordOf("service", "bank", "web", "A", "192.0.2.10", 60), recordOf("ingress", "tenantb", "evil", "A", "192.0.2.66", 60), "www.shop.test A 192.0.2.10"},
		"S1 b: A of an earlier source":  {recordOf("ingress", "bank", "web", "A", "192.0.2.10", 60), recordOf("service", "tenantb", "evil", "A", "192.0.2.1", 60), "www.shop.test A 192.0.2.10"},
		"S1 d: another TTL":             {recordOf("crd", "bank", "web", "A", "192.0.2.33", 300), recordOf("crd", "tenantb", "evil", "A", "6.6.6.6", 301), "www.shop.test A 192.0.2.33"},
		"S2: A for a CNAME":             {recordOf("service", "bank", "web", "CNAME", "lb.example.net", 60), recordOf("service", "tenantb", "evil", "A", "6.6.6.6", 60), "www.shop.test CNAME lb.example.net"},
		"S2: CNAME for an A":            {recordOf("service", "bank", "web", "A", "192.0.2.10", 60), recordOf("service", "tenantb", "evil", "CNAME", "evil.example.net", 60), "www.shop.test A 192.0.2.10"},
		"S2: a TTL of an earlier label": {recordOf("service", "bank", "web", "A", "192.0.2.10", 60), recordOf("service", "aaa", "evil", "A", "192.0.2.66", 604800), "www.shop.test A 192.0.2.10,192.0.2.66"},
	} {
		for _, adjusts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, adjusts %v", name, adjusts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { playTakeover(t, test.victim, test.evil, test.want, adjusts) })
			})
		}
	}
}

func playTakeover(t *testing.T, victim, evil *dns.RecordSet, want string, adjusts bool) {
	w := newFixture(t)
	// All objects are known before anything is planned, as in a process with tables.
	w.standby = true
	if adjusts {
		w.provider = &judging{Provider: w.zones}
	}
	bySource := map[string]*objects{}
	order := []string{"service", "ingress", "crd"}
	for _, name := range order {
		bySource[name] = newObjects(name)
	}
	w.change = func(c *Config) {
		c.Sources = nil
		for _, name := range order {
			c.Sources = append(c.Sources, NamedSource{Name: name, Source: source.Source{Evaluate: bySource[name].evaluate}})
		}
		c.Desired = desiredOf(t, desired.Options{Sources: order, OneTTL: []string{"service"}})
	}
	ask := func(r *dns.RecordSet) {
		o := r.Objects[0]
		bySource[o.Source].setKey(source.Key{Namespace: o.Namespace, Name: o.Name}, r)
	}
	begin := func() {
		w.start()
		for i, name := range order {
			bySource[name].listen(Changed(func() *Publisher { return w.publisher }, i))
		}
		waitIdle()
		w.lead()
		waitIdle()
	}
	ask(victim)
	begin()
	ask(evil)
	waitIdle()
	w.expectZone(want)
	if victim.Type != evil.Type || !strings.Contains(want, evil.Targets[0]) {
		w.expectNotices(map[string]int{"RecordConflict": some, victim.Labels[dns.LabelResource]: some})
	}
	w.stop()
	begin()
	defer w.stop()
	w.expectZone(want)
	if there := w.zones.Get(victim.Key()); there == nil || there.TTL != victim.TTL {
		t.Errorf("the zone has %v, want the TTL %d", there, victim.TTL)
	}
}

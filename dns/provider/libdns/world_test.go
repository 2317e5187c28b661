package libdns_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

// managed are the types that the publishers of these tests manage.
var managed = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME}

// publish runs a publisher once, with the owner "me" and the text registry.
func publish(t *testing.T, p provider.Provider, wanted []*dns.RecordSet) error {
	t.Helper()
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: managed})
	if err != nil {
		t.Fatal(err)
	}
	rules := plan.Rules{Policy: plan.Sync, Owner: "me", Managed: managed}
	o, err := owner.NewTXT(owner.TXTOptions{OwnerID: "me", Managed: rules.Manages})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range wanted {
		wanted[i] = r.Clone()
		wanted[i].Labels[dns.LabelResource] = "service/default/web"
		wanted[i].Objects = []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", Source: "service"}}
	}
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	all := budget.Limit{Percent: 100}
	pub, err := publisher.New(publisher.Config{
		// What others change is seen soon, so that a schedule takes minutes.
		Limits:  publisher.Limits{ListingTime: publisher.DefaultInterval},
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return wanted, nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: dns.NewDomainFilter(nil, nil),
		Budget: budget.Limits{Deletions: all, SettingsUpdates: all, ObjectUpdates: all, Window: time.Minute}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	settled := make(chan struct{})
	close(settled)
	_, err = pub.Once(t.Context(), settled, time.Minute)
	return err
}

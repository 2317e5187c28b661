package dns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

const (
	killForeign  = 5000
	killServices = 300
	killRounds   = 40
	// killContended of the Services ask for names that somebody else has.
	killContended = 50
	// killWithin is how long everything may take after the last kill: the records of the last
	// change, and two listings for what the kills have left.
	killWithin    = 3 * time.Minute
	killInterval  = 20 * time.Second
	killTXTPrefix = "own-"
)

// measureKills kills the publisher again and again in the middle of its work, while objects
// change and a person edits the zone. Each time it looks whether a record of somebody else was
// touched, and whether one of ours has no ownership record.
func measureKills(ctx context.Context, r *measure.Report, c measure.Options) error {
	k, err := measure.StartCluster(ctx, time.Second)
	if err != nil {
		return err
	}
	defer k.Stop()
	d := &run{choice: c, services: c.Scaled(killServices, killContended+20), cluster: k}
	if err := d.load(ctx); err != nil {
		return fmt.Errorf("load the cluster: %w", err)
	}
	for _, kind := range dnsTargets {
		target, err := kind.Start(ctx)
		if err != nil {
			return fmt.Errorf("start %s: %w", kind.name, err)
		}
		err = killsOn(ctx, r, d, kind.name, target)
		target.close()
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return nil
}

// killing is a run on one server.
type killing struct {
	*run
	target *dnsTarget
	// foreign are the records of others by key; the person changes some of them.
	foreign map[dns.Key]*dns.RecordSet
	edits   int
	// gone says since when there is no Service of a number.
	gone map[int]time.Time
	// asked is how many Services ask for a record in the end, published how many records of ours
	// the kills have left.
	asked, published int
	// touched and unowned say what was found wrong.
	touched, unowned []string
}

func killsOn(ctx context.Context, r *measure.Report, d *run, name string, target *dnsTarget) error {
	k := &killing{run: d, target: target, foreign: map[dns.Key]*dns.RecordSet{}, gone: map[int]time.Time{}}
	rounds := d.choice.Scaled(killRounds, 3)
	if err := k.putForeign(ctx, d.choice.Scaled(killForeign, 100)); err != nil {
		return fmt.Errorf("create the records of others: %w", err)
	}
	for range rounds {
		if err := k.round(ctx); err != nil {
			return err
		}
	}
	took, err := k.converge(ctx)
	if err != nil {
		return err
	}
	r.TitleBeside("", "%s: %d times kill -9 in the middle of the work, %d records of others, a person who edits", name, rounds, len(k.foreign))
	r.Note("the person made %d edits; the kills left %d of our records, and %d are asked for; complete %.1f s after the last start",
		k.edits, k.published, k.asked, took.Seconds())
	r.None("records of others that were touched", len(k.touched), strings.Join(append([]string{fmt.Sprint(len(k.touched))}, first(k.touched)...), ", "))
	r.None("records of ours without an ownership record", len(k.unowned), strings.Join(append([]string{fmt.Sprint(len(k.unowned))}, first(k.unowned)...), ", "))
	return nil
}

// first returns the first few of some texts.
func first(texts []string) []string { return texts[:min(3, len(texts))] }

// putForeign creates records of others: addresses, aliases, texts, wildcards, records of
// another owner with their ownership records, and a share with names that Services ask for.
func (k *killing) putForeign(ctx context.Context, n int) error {
	for i := range n {
		label := fmt.Sprintf("other-%04d.%s", i, dnsZone)
		switch {
		case i < killContended:
			k.own(strings.TrimSuffix(dnsName(k.services-1-i), "."), dns.TypeA, "203.0.113.1")
		case i%25 == 0:
			k.own("*."+label, dns.TypeA, "203.0.113.2")
		case i%20 == 0:
			k.own(label, dns.TypeA, "203.0.113.3")
			k.own(killTXTPrefix+"a-"+label, dns.TypeTXT, `"heritage=external-dns,external-dns/owner=another"`)
		case i%10 == 0:
			k.own(label, dns.TypeCNAME, "elsewhere.example.net")
		case i%5 == 0:
			k.own(label, dns.TypeTXT, `"v=spf1 -all"`)
		default:
			k.own(label, dns.TypeA, "203.0.113.4")
		}
	}
	sets := slices.Collect(maps.Values(k.foreign))
	for some := range slices.Chunk(sets, 500) {
		var changes []dns.Change
		for _, r := range some {
			changes = append(changes, dns.Change{New: r})
		}
		if err := k.target.direct.Apply(ctx, k.target.zone, changes); err != nil {
			return err
		}
	}
	return nil
}

func (k *killing) own(name, recordType, target string) {
	r := &dns.RecordSet{Name: name, Type: recordType, Targets: []string{target}, TTL: 300}
	k.foreign[r.Key()] = r
}

// round runs the publisher for a while, and kills it.
func (k *killing) round(ctx context.Context) error {
	if err := k.startOn(ctx); err != nil {
		return err
	}
	ends := time.Now().Add(500*time.Millisecond + rand.N(2*time.Second))
	for time.Now().Before(ends) {
		if err := errors.Join(k.churn(ctx), k.edit(ctx), k.process.Ended()); err != nil {
			return err
		}
	}
	_ = k.process.Signal(syscall.SIGKILL)
	<-k.process.Exited()
	k.process = nil
	return k.look(ctx)
}

func (k *killing) startOn(ctx context.Context) error {
	// With a namespace the budget is stored. Without, each start would hold deletions, because what was
	// deleted before is unknown. Half of the objects may change between a kill and the next start, so updates
	// have no limit.
	stored := []string{"POD_NAMESPACE=" + dnsNamespace}
	return k.publish(ctx, stored, append([]string{
		"--interval", killInterval.String(), "--txt-prefix=" + killTXTPrefix, "--max-deletions=1000000", "--max-updates-percent=100",
	}, k.target.flags...)...)
}

// churn gives a Service another address, or deletes it, or makes it again.
func (k *killing) churn(ctx context.Context) error {
	i := rand.IntN(k.services)
	if rand.IntN(4) > 0 {
		err := k.setTarget(ctx, i, fmt.Sprintf("198.19.%d.%d", i%250, 1+rand.IntN(200)))
		// The API server takes the write of a status for a creation when there is no Service.
		if !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
			return err
		}
		delete(k.gone, i)
		return k.create(ctx, i)
	}
	if _, known := k.gone[i]; !known {
		k.gone[i] = time.Now()
	}
	err := k.client.CoreV1().Services(dnsNamespace).Delete(ctx, dnsLabel(i), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// edit has the person change a record of theirs, or create one under a name for which there
// is nothing and for which a Service may ask. A server that can't write on a condition can't
// protect a person who writes in the same millisecond (decision 0024), so there the Service must
// have been gone for a while.
func (k *killing) edit(ctx context.Context) error {
	i := rand.IntN(k.services)
	key := dns.Key{Name: strings.TrimSuffix(dnsName(i), "."), Type: dns.TypeA}
	old := k.foreign[key]
	since, gone := k.gone[i]
	if old == nil && !k.target.conditional() && !(gone && time.Since(since) > time.Second) {
		return nil
	}
	next := &dns.RecordSet{Name: key.Name, Type: key.Type, Targets: []string{fmt.Sprintf("203.0.113.%d", 10+rand.IntN(200))}, TTL: 300}
	if old != nil && rand.IntN(3) == 0 {
		next = nil
	}
	switch err := k.target.direct.Apply(ctx, k.target.zone, []dns.Change{{Old: old, New: next}}); {
	case old == nil && isRefusal(err):
		// The publisher was faster: the record is ours.
		return nil
	case isRefusal(err):
		k.touched = append(k.touched, key.Name+" A")
		delete(k.foreign, key)
	case err != nil:
		return fmt.Errorf("edit %s, which is the person's: %w", key.Name, err)
	case next == nil:
		delete(k.foreign, key)
	default:
		k.foreign[key] = next
	}
	k.edits++
	return nil
}

// isRefusal reports whether a change was not made because something is there.
func isRefusal(err error) bool {
	return errors.Is(err, provider.ErrStale) || errors.Is(err, provider.ErrRejected)
}

// look compares what is there with what others have.
func (k *killing) look(ctx context.Context) error {
	there, err := k.records(ctx)
	if err != nil {
		return err
	}
	for key, r := range k.foreign {
		if now := there[key]; now == nil || !dns.SameTargets(now.Targets, r.Targets) {
			k.touched = append(k.touched, fmt.Sprintf("%s %s", key.Name, key.Type))
		}
	}
	for key, r := range there {
		record := there[dns.Key{Name: killTXTPrefix + strings.ToLower(key.Type) + "-" + key.Name, Type: dns.TypeTXT}]
		ours := k.foreign[key] == nil && key.Type == dns.TypeA
		if ours && (record == nil || !strings.Contains(strings.Join(record.Targets, ""), "external-dns/owner=default")) {
			k.unowned = append(k.unowned, fmt.Sprintf("%s %v", key.Name, r.Targets))
		}
	}
	return nil
}

func (k *killing) records(ctx context.Context) (map[dns.Key]*dns.RecordSet, error) {
	list, err := k.target.direct.Records(ctx, k.target.zone)
	if err != nil {
		return nil, err
	}
	there := make(map[dns.Key]*dns.RecordSet, len(list))
	for _, r := range list {
		there[r.Key()] = r
	}
	return there, nil
}

// converge starts the publisher once more, and returns how long it takes until every Service
// has its record, unless somebody else has the name, and nothing else of ours is there.
func (k *killing) converge(ctx context.Context) (time.Duration, error) {
	there, err := k.records(ctx)
	if err != nil {
		return 0, err
	}
	for key := range there {
		if key.Type == dns.TypeA && k.foreign[key] == nil {
			k.published++
		}
	}
	begun := time.Now()
	if err := k.startOn(ctx); err != nil {
		return 0, err
	}
	defer func() {
		k.process.Stop()
		k.process = nil
	}()
	missing := ""
	err = k.await(ctx, "all records", killWithin, 100*time.Millisecond, func() (bool, error) {
		missing, err = k.missing(ctx)
		return missing == "", err
	})
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, missing)
	}
	return time.Since(begun), k.look(ctx)
}

// missing says what isn't there yet, or is there still.
func (k *killing) missing(ctx context.Context) (string, error) {
	list, err := k.client.CoreV1().Services(dnsNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	there, err := k.records(ctx)
	if err != nil {
		return "", err
	}
	wanted := map[dns.Key]bool{}
	for _, s := range list.Items {
		key := dns.Key{Name: s.Name + "." + dnsZone, Type: dns.TypeA}
		if k.foreign[key] != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			continue
		}
		wanted[key] = true
		k.asked = len(wanted)
		want := []string{s.Status.LoadBalancer.Ingress[0].IP}
		if now := there[key]; now == nil || !dns.SameTargets(now.Targets, want) {
			return key.Name + " isn't " + want[0], nil
		}
	}
	for key := range there {
		if key.Type == dns.TypeA && k.foreign[key] == nil && !wanted[key] {
			return key.Name + " is there still", nil
		}
	}
	return "", nil
}

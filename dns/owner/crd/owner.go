package crd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Options configures an [Owner].
type Options struct {
	// Config says how to reach the API server. Its limits should allow some hundred requests
	// per second: each change needs three to five. HTTPClient has the connections; nil has
	// them opened according to Config.
	Config     *rest.Config
	HTTPClient *http.Client
	// Namespace is the namespace of the objects; empty stands for "default".
	Namespace string
	// ID is the owner ID. Record sets of OldOwner may become ours; it may be empty. Both must
	// be valid values of a label.
	ID, OldOwner string
	Log          *slog.Logger
}

// Owner is an [owner.Owner] that keeps ownership in DNSRecords.
type Owner struct {
	client       client
	id, oldOwner string
	namespace    string
	log          *slog.Logger
	now          func() time.Time

	// calls is held during requests to the API server.
	calls sync.Mutex
	// pending has the objects of changes that are being applied.
	pending map[dns.Key]*externaldns.DNSRecord
	// toDelete has the objects, by UID, whose records were deleted and that have not been
	// deleted yet.
	toDelete map[string]string

	// mu guards the fields below.
	mu      sync.RWMutex
	entries map[dns.Key]*entry
	// changed are the names for which Labels may return something else than before.
	changed map[string]struct{}
	// problems are the objects that can't be read, with the errors.
	problems map[string]string
}

var _ owner.Owner = (*Owner)(nil)

// New returns an owner that knows nothing until Load is called.
func New(o Options) (*Owner, error) {
	for flag, value := range map[string]string{"--txt-owner-id": o.ID, "--migrate-from-txt-owner": o.OldOwner} {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return nil, fmt.Errorf("%s %q: --registry=crd keeps it as the value of a label, for which it is not valid: %s", flag, value, strings.Join(problems, "; "))
		}
	}
	if o.ID == "" {
		return nil, errors.New("--txt-owner-id is empty: give an owner ID, which --registry=crd needs")
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, err := newClient(o.Config, o.HTTPClient, o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("make a client for DNSRecords: %w", err)
	}
	return &Owner{
		client: c, id: o.ID, oldOwner: o.OldOwner, namespace: o.Namespace, log: o.Log, now: time.Now,
		pending: map[dns.Key]*externaldns.DNSRecord{}, toDelete: map[string]string{},
		entries: map[dns.Key]*entry{}, changed: map[string]struct{}{}, problems: map[string]string{},
	}, nil
}

// ID implements [owner.Owner].
func (o *Owner) ID() string { return o.id }

// owners returns the owners whose objects are ours or may become ours.
func (o *Owner) owners() []string {
	if o.oldOwner == "" || o.oldOwner == o.id {
		return []string{o.id}
	}
	return []string{o.id, o.oldOwner}
}

// Load implements [owner.Owner]. It reads the objects of our owner and of the old one. After
// an error the owner keeps what it knew before.
func (o *Owner) Load(ctx context.Context) error {
	o.calls.Lock()
	defer o.calls.Unlock()
	entries, problems := map[dns.Key]*entry{}, map[string]string{}
	err := o.client.list(ctx, o.owners(), func(object *externaldns.DNSRecord) {
		if problem := cmp.Or(object.Spec.Problem, object.Spec.Endpoint.Problem, object.Status.Problem); problem != "" {
			problems[object.Name] = problem
			return
		}
		if _, toDelete := o.toDelete[string(object.UID)]; toDelete {
			return
		}
		key, fresh := keyOf(object), newEntry(object)
		if other := entries[key]; other == nil || fresh.name == ObjectName(key) || other.name != ObjectName(key) && fresh.name < other.name {
			entries[key] = fresh
		}
	})
	if err != nil {
		return fmt.Errorf("list the DNSRecords in namespace %s: %w", o.namespace, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, problem := range problems {
		if o.problems[name] != problem {
			o.log.Error("Can't read a DNSRecord: its record counts as nobody's", "object", o.namespace+"/"+name, "err", problem)
		}
	}
	for key, fresh := range entries {
		if known := o.entries[key]; known == nil || !known.same(fresh) {
			o.changed[key.Name] = struct{}{}
		}
	}
	for key := range o.entries {
		if entries[key] == nil {
			o.changed[key.Name] = struct{}{}
		}
	}
	o.entries, o.problems = entries, problems
	return nil
}

// Changed returns the canonical names, sorted, for which Labels may return something else than
// at the last call, because objects have changed.
func (o *Owner) Changed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := slices.Sorted(maps.Keys(o.changed))
	clear(o.changed)
	return names
}

// Mark implements [owner.Owner]. There are no markers in zones.
func (o *Owner) Mark(*dns.RecordSet) (describes []string, marker bool) { return nil, false }

// Labels implements [owner.Owner]. The labels must not be changed.
func (o *Owner) Labels(_ owner.Lookup, r *dns.RecordSet) (labels map[string]string, heal bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	e := o.entries[r.Key()]
	if e == nil || !e.owns(r, o.now()) {
		return nil, false
	}
	return e.labels, e.claim != programmed
}

// entry returns what is known of the object of a record set, or nil.
func (o *Owner) entry(key dns.Key) *entry {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.entries[key]
}

// keep replaces what is known of an object; nil is for an object that is gone.
func (o *Owner) keep(key dns.Key, object *externaldns.DNSRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if object == nil {
		delete(o.entries, key)
		return
	}
	o.entries[key] = newEntry(object)
}

// touch notes that the labels of a record set have changed without a change of the zone.
func (o *Owner) touch(key dns.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed[key.Name] = struct{}{}
}

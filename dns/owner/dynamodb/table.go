package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// The defaults of [Options].
const (
	DefaultTable   = "external-dns"
	DefaultRefresh = 10 * time.Minute
)

// Options are the flags of --registry=dynamodb.
type Options struct {
	// Table is --dynamodb-table; empty is [DefaultTable].
	Table string
	// OwnerID is --txt-owner-id. It must not be empty.
	OwnerID string
	// TXT reads the markers of --registry=txt, whose record sets are taken over into the
	// table. It must have the same owner. Nil takes nothing over.
	TXT *owner.TXT
	// RemoveTXT has these markers deleted. It is for configurations in which TXT record sets
	// are managed. Otherwise the markers stay, without any use.
	RemoveTXT bool
	// Refresh is the age at which the items are read again, in case somebody else writes to
	// the table as this owner. Zero is [DefaultRefresh].
	Refresh time.Duration
	// Problems is called by Before with the reasons why record sets aren't changed. It must
	// not block. It may be nil.
	Problems func(dns.Problem)
}

// Table is an [owner.Owner] that keeps ownership in DynamoDB.
type Table struct {
	client    *dynamodb.Client
	name, id  string
	txt       *owner.TXT
	removeTXT bool
	refresh   time.Duration
	problems  func(dns.Problem)
	now       func() time.Time

	// calls is held while the table is read or written.
	calls sync.Mutex
	// checked is true once the table is known to have the right key.
	checked bool
	// readAt is when the table was read. It is zero when the table has to be read again.
	readAt time.Time
	// spare has, by name, the items without a record set, which are deleted when the name
	// changes.
	spare map[string][]dns.Key

	// mu guards the fields below.
	mu sync.RWMutex
	// items are the items of our owner, by the canonical names of their record sets.
	items map[string]map[dns.Key]*item
	// changed are the names for which Labels may return something else than before.
	changed map[string]struct{}
}

var _ owner.Owner = (*Table)(nil)

// New returns an owner for a table. It doesn't contact AWS; Load does. The error says which
// option is wrong.
func New(client *dynamodb.Client, o Options) (*Table, error) {
	switch {
	case client == nil:
		return nil, errors.New("DynamoDB registry: the client must be given")
	case o.OwnerID == "":
		return nil, errors.New("DynamoDB registry: the owner ID is empty: give --txt-owner-id")
	case o.TXT != nil && o.TXT.ID() != o.OwnerID:
		return nil, fmt.Errorf("DynamoDB registry: TXT records of owner %q can't be taken over by owner %q: give the same owner ID", o.TXT.ID(), o.OwnerID)
	case o.Refresh < 0:
		return nil, fmt.Errorf("DynamoDB registry: the refresh interval %v must not be negative", o.Refresh)
	}
	t := &Table{
		client: client, name: cmp.Or(o.Table, DefaultTable), id: o.OwnerID, txt: o.TXT, removeTXT: o.RemoveTXT,
		refresh: cmp.Or(o.Refresh, DefaultRefresh), problems: o.Problems, now: time.Now,
		spare: map[string][]dns.Key{}, items: map[string]map[dns.Key]*item{}, changed: map[string]struct{}{},
	}
	if t.problems == nil {
		t.problems = func(dns.Problem) {}
	}
	return t, nil
}

// ID implements [owner.Owner].
func (t *Table) ID() string { return t.id }

// Load implements [owner.Owner]. It reads the items of our owner the first time, after any
// failure, and when they are older than Refresh. The first time it also checks that the table
// has the string attribute k as its only key. After an error the owner keeps what it knew
// before.
func (t *Table) Load(ctx context.Context) error {
	t.calls.Lock()
	defer t.calls.Unlock()
	if !t.readAt.IsZero() && t.now().Sub(t.readAt) < t.refresh {
		return nil
	}
	if !t.checked {
		output, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(t.name)})
		if err != nil {
			return fmt.Errorf("describe DynamoDB table %s: %w", t.name, err)
		}
		if err := check(output.Table); err != nil {
			return fmt.Errorf("DynamoDB table %s: %w; see the documentation of the DynamoDB registry for how to create it", t.name, err)
		}
		t.checked = true
	}
	begun := t.now()
	items, err := t.scan(ctx)
	if err != nil {
		return fmt.Errorf("scan DynamoDB table %s: %w", t.name, err)
	}
	t.replace(items)
	t.readAt = begun
	return nil
}

// check returns what is wrong with the key of a table, or nil.
func check(table *types.TableDescription) error {
	if table == nil {
		return errors.New("AWS returned no description")
	}
	i := slices.IndexFunc(table.AttributeDefinitions, func(d types.AttributeDefinition) bool { return aws.ToString(d.AttributeName) == attributeKey })
	if i < 0 {
		return fmt.Errorf("has no attribute %s", attributeKey)
	}
	if got := table.AttributeDefinitions[i].AttributeType; got != types.ScalarAttributeTypeS {
		return fmt.Errorf("attribute %s has type %s, and must have type S", attributeKey, got)
	}
	for _, part := range table.KeySchema {
		switch {
		case part.KeyType == types.KeyTypeRange:
			return fmt.Errorf("has the range key %s, and must have none", aws.ToString(part.AttributeName))
		case aws.ToString(part.AttributeName) != attributeKey:
			return fmt.Errorf("has the hash key %s, which must be %s", aws.ToString(part.AttributeName), attributeKey)
		}
	}
	return nil
}

// scan reads the items of our owner.
func (t *Table) scan(ctx context.Context) (map[string]map[dns.Key]*item, error) {
	items := map[string]map[dns.Key]*item{}
	pages := dynamodb.NewScanPaginator(t.client, &dynamodb.ScanInput{
		TableName:                 aws.String(t.name),
		FilterExpression:          aws.String("o = :ownerval"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":ownerval": stringValue(t.id)},
		ProjectionExpression:      aws.String("k,l"),
		ConsistentRead:            aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, attributes := range page.Items {
			key, it := parseItem(attributes, t.id)
			if key.Name == "" {
				continue
			}
			if items[key.Name] == nil {
				items[key.Name] = map[dns.Key]*item{}
			}
			items[key.Name][key] = it
		}
	}
	return items, nil
}

// replace replaces all items by those that were read.
func (t *Table) replace(items map[string]map[dns.Key]*item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := func(a, b *item) bool { return maps.Equal(a.labels, b.labels) }
	for name := range t.items {
		if items[name] == nil {
			t.changed[name] = struct{}{}
		}
	}
	for name, sets := range items {
		if !maps.EqualFunc(sets, t.items[name], same) {
			t.changed[name] = struct{}{}
		}
	}
	t.items = items
}

// forget has the next Load read the table.
func (t *Table) forget() { t.readAt = time.Time{} }

// store replaces an item in memory; nil is for one that was deleted.
func (t *Table) store(key dns.Key, it *item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[key.Name] = struct{}{}
	if it == nil {
		delete(t.items[key.Name], key)
		if len(t.items[key.Name]) == 0 {
			delete(t.items, key.Name)
		}
		return
	}
	if t.items[key.Name] == nil {
		t.items[key.Name] = map[dns.Key]*item{}
	}
	t.items[key.Name][key] = it
}

// item returns the item of a record set, or nil.
func (t *Table) item(key dns.Key) *item {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.items[key.Name][key]
}

// Changed returns the canonical names, sorted, for which Labels may return something else than
// at the last call, because Load or Before has changed items.
func (t *Table) Changed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.Sorted(maps.Keys(t.changed))
	clear(t.changed)
	return names
}

// Mark implements [owner.Owner]. There are markers only while TXT records are taken over.
func (t *Table) Mark(r *dns.RecordSet) (describes []string, marker bool) {
	if t.txt == nil {
		return nil, false
	}
	return t.txt.Mark(r)
}

// Labels implements [owner.Owner]. The labels are those of the table, or else those of a
// marker. Heal is true for record sets of ours that have to be taken over. The map must not be
// changed.
func (t *Table) Labels(zone owner.Lookup, r *dns.RecordSet) (labels map[string]string, heal bool) {
	if it := t.item(r.Key()); it != nil {
		return it.labels, false
	}
	if t.txt == nil {
		return nil, false
	}
	labels, _ = t.txt.Labels(zone, r)
	return labels, labels[dns.LabelOwner] == t.id
}

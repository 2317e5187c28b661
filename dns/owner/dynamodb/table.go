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

// The values of [Options] when nothing else is said.
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
	// TXT reads the markers that --registry=txt has left, so that its record sets become
	// those of the table. Its owner must be the same. Nil has nothing taken over.
	TXT *owner.TXT
	// RemoveTXT has those markers removed with that. It is for when record sets of type
	// TXT are managed; otherwise they stay, and are of no use.
	RemoveTXT bool
	// Refresh is the age at which what was read is read again, in case somebody else writes
	// to the table as this owner; zero is [DefaultRefresh].
	Refresh time.Duration
	// Problems takes what keeps record sets from being created. It is called by Before, and
	// must not block. Nil drops it.
	Problems func(dns.Problem)
}

// Table is an [owner.Owner] that keeps its knowledge in DynamoDB.
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
	// readAt is when the table was read; zero when it has to be read again.
	readAt time.Time
	// spare are items without a record set, by name, which go when the name is written.
	spare map[string][]dns.Key

	// mu guards the rest.
	mu sync.RWMutex
	// items are those of our owner, by the canonical names of their record sets.
	items map[string]map[dns.Key]*item
	// changed are the names of which Labels has something else to say.
	changed map[string]struct{}
}

var _ owner.Owner = (*Table)(nil)

// New returns an owner that keeps a table. It doesn't reach the table; Load does. The error
// says which option is wrong.
func New(client *dynamodb.Client, o Options) (*Table, error) {
	switch {
	case client == nil:
		return nil, errors.New("DynamoDB registry: no client")
	case o.OwnerID == "":
		return nil, errors.New("DynamoDB registry: the owner ID must not be empty")
	case o.TXT != nil && o.TXT.ID() != o.OwnerID:
		return nil, fmt.Errorf("DynamoDB registry: TXT records of owner %q can't be taken over by owner %q", o.TXT.ID(), o.OwnerID)
	case o.Refresh < 0:
		return nil, fmt.Errorf("DynamoDB registry: refresh %v: must not be negative", o.Refresh)
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

// Load implements [owner.Owner]: it reads the items of our owner the first time, after
// anything went wrong, and when what it has is too old. The first time it also checks the
// table: attribute k must be a string, and the only part of the key. After an error what
// was read before is still known.
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

// check returns what is wrong with a table.
func check(table *types.TableDescription) error {
	if table == nil {
		return errors.New("not described")
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

// replace has all items replaced by those that were read.
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

// forget has the table read again by the next Load.
func (t *Table) forget() { t.readAt = time.Time{} }

// store has an item known; nil is one that was deleted.
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

// item returns the item of a record set, nil for none.
func (t *Table) item(key dns.Key) *item {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.items[key.Name][key]
}

// Changed returns the canonical names of which Labels may have something else to say than
// when Changed was called last, sorted: Load and Before may be the reason.
func (t *Table) Changed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.Sorted(maps.Keys(t.changed))
	clear(t.changed)
	return names
}

// Mark implements [owner.Owner]: there are markers only where they are taken over.
func (t *Table) Mark(r *dns.RecordSet) (describes []string, marker bool) {
	if t.txt == nil {
		return nil, false
	}
	return t.txt.Mark(r)
}

// Labels implements [owner.Owner]: those of the table, or else those of a marker. Heal is true
// for record sets of ours that have to be taken over. The labels must not be changed.
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

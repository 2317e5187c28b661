package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// Defaults of [Options].
const (
	DefaultTable   = "external-dns"
	DefaultRefresh = 10 * time.Minute
)

// Options are the flags of --registry=dynamodb.
type Options struct {
	// Table is --dynamodb-table; empty means [DefaultTable].
	Table string
	// OwnerID is --txt-owner-id. It must not be empty.
	OwnerID string
	// ByTarget is true if the provider writes by target.
	ByTarget bool
	// TXT reads the ownership records of --registry=txt, whose record sets are taken over into the
	// table. It must have the same owner. Nil takes over nothing.
	TXT *owner.TXT
	// RemoveTXT deletes these ownership records. It is for configurations in which TXT record sets are
	// managed. Otherwise they stay, unused.
	RemoveTXT bool
	// Refresh is the age at which the items are read again, in case another process writes to the
	// table as this owner. Zero means [DefaultRefresh].
	Refresh time.Duration
	// Budget limits how many items of our owner are read. Nil means the default limits.
	Budget *listlimit.Budget
	// Problems is called by Before with the reasons why record sets aren't changed. It must not block.
	// It may be nil.
	Problems func(dns.Problem)
	Log      *slog.Logger
}

// table is a [claims.Store] in DynamoDB.
type table struct {
	client   *dynamodb.Client
	name, id string
	refresh  time.Duration
	now      func() time.Time
	budget   *listlimit.Budget

	// checked is true once the table's key was verified.
	checked bool
	// readAt is when the table was read; zero means that it must be read again.
	readAt time.Time
}

// New returns an owner for a table. It doesn't contact AWS; Load does. The error says which option
// is wrong.
func New(client *dynamodb.Client, o Options) (*claims.Owner, error) {
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
	t := &table{client: client, name: cmp.Or(o.Table, DefaultTable), id: o.OwnerID, refresh: cmp.Or(o.Refresh, DefaultRefresh), now: time.Now, budget: o.Budget}
	return claims.New(claims.Options{Store: t, ID: o.OwnerID, ByTarget: o.ByTarget, TXT: o.TXT, RemoveTXT: o.RemoveTXT, Problems: o.Problems, Log: o.Log}), nil
}

// Read implements [claims.Store]. It reads the items of our owner the first time, with ReadAgain,
// after any failure, and when they are older than [Options].Refresh. The first time it also checks that the
// table has the string attribute k as its only key.
func (t *table) Read(ctx context.Context, how claims.Reading) (read map[dns.Key]*claims.Claim, fresh bool, err error) {
	if how == claims.MayReuse && !t.readAt.IsZero() && t.now().Sub(t.readAt) < t.refresh {
		return nil, false, nil
	}
	if !t.checked {
		output, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(t.name)})
		if err != nil {
			return nil, false, fmt.Errorf("describe DynamoDB table %s: %w", t.name, err)
		}
		if err := check(output.Table); err != nil {
			return nil, false, fmt.Errorf("DynamoDB table %s: %w; see the documentation of the DynamoDB registry for how to create it", t.name, err)
		}
		t.checked = true
	}
	begun := t.now()
	read, err = t.scan(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("scan DynamoDB table %s: %w", t.name, err)
	}
	t.readAt = begun
	return read, true, nil
}

// readAgain makes the next Read read the table.
func (t *table) readAgain() { t.readAt = time.Time{} }

// check returns an error if a table has the wrong key.
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

// scan reads the items of our owner. Most pages may have none of these.
func (t *table) scan(ctx context.Context) (map[dns.Key]*claims.Claim, error) {
	read := map[dns.Key]*claims.Claim{}
	counted := t.budget.Claims("the table")
	defer counted.End(nil)
	pages := dynamodb.NewScanPaginator(t.client, &dynamodb.ScanInput{
		TableName:                 aws.String(t.name),
		FilterExpression:          aws.String("o = :ownerval"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":ownerval": stringValue(t.id)},
		ProjectionExpression:      aws.String("k,l"),
		ConsistentRead:            aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := nextPage(ctx, pages)
		if err != nil {
			return nil, err
		}
		if page.Items == nil && awsaccess.Unidentified(page.ResultMetadata) {
			return nil, httpapi.Incomplete("the response", "list of items", "DynamoDB")
		}
		for _, attributes := range page.Items {
			it := parseItem(attributes)
			if it == nil {
				continue
			}
			if err := counted.Add(1, it.size()); err != nil {
				return nil, err
			}
			if key := keyOf(it.k); key.Name != "" {
				read[key] = claimOf(key, it, t.id)
			}
		}
	}
	return read, nil
}

// Write implements [claims.Store]. A refuted claim has no item. If a whole batch is throttled, those after it
// aren't sent.
func (t *table) Write(ctx context.Context, writes []claims.Write) []claims.Result {
	results := make([]claims.Result, len(writes))
	var statements []statement
	for i, w := range writes {
		var had *item
		if w.Was != nil {
			had = &item{k: w.Was.Handle.(string), labels: itemOf(w.Was, nil).labels}
		}
		it := itemOf(w.Claim, had)
		results[i].Stored = claimOf(w.Key(), it, t.id)
		if r, needed := t.statement(had, it); needed {
			statements = append(statements, statement{item: it, place: i, request: r})
		}
	}
	var throttled error
	for batch := range slices.Chunk(statements, batchSize) {
		errs := slices.Repeat([]error{throttled}, len(batch))
		if throttled == nil {
			errs = t.execute(ctx, batch)
		}
		if allThrottled(errs) {
			throttled = errs[0]
		}
		for i, err := range errs {
			results[batch[i].place].Err = err
		}
	}
	return results
}

package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/dns/provider"
)

// batchSize is DynamoDB's limit of statements in a request.
const batchSize = 25

// statement is a write to the table.
type statement struct {
	// item is the item afterwards, or nil for a deletion.
	item *item
	// place is the index of the write that the statement belongs to.
	place int

	request types.BatchStatementRequest
}

// statement returns the statement that turns had into it. It returns false if there is nothing to
// do.
func (t *table) statement(had, it *item) (types.BatchStatementRequest, bool) {
	switch {
	case had == nil && it == nil, had != nil && it != nil && maps.Equal(had.labels, it.labels):
		return types.BatchStatementRequest{}, false
	case had == nil:
		return request(fmt.Sprintf(`INSERT INTO %q VALUE {'k':?, 'o':?, 'l':?}`, t.name), stringValue(it.k), stringValue(t.id), labelsValue(it.labels)), true
	case it == nil:
		return request(fmt.Sprintf(`DELETE FROM %q WHERE "k"=? AND "o"=?`, t.name), stringValue(had.k), stringValue(t.id)), true
	default:
		return request(fmt.Sprintf(`UPDATE %q SET "l"=? WHERE "k"=? AND "o"=?`, t.name), labelsValue(it.labels), stringValue(it.k), stringValue(t.id)), true
	}
}

func request(text string, parameters ...types.AttributeValue) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: aws.String(text), Parameters: parameters}
}

// execute writes a batch to the table, and returns an error for each statement. The error wraps
// [claims.ErrTaken] if another owner has the item, or if it doesn't exist. After an error the table
// is read again, unless the statement was throttled, so that the item is certainly as before.
func (t *table) execute(ctx context.Context, batch []statement) []error {
	errs := make([]error, len(batch))
	input := &dynamodb.BatchExecuteStatementInput{}
	for _, s := range batch {
		input.Statements = append(input.Statements, s.request)
	}
	output, err := t.client.BatchExecuteStatement(ctx, input, func(o *dynamodb.Options) {
		// If the first request was executed, a second one would find our own item, as if another owner had it.
		o.Retryer = awsaccess.RetryThrottled(o.RetryMaxAttempts)
	})
	if isThrottled(err) {
		err = &provider.ThrottledError{Err: err}
	}
	if err == nil && len(output.Responses) != len(batch) {
		err = fmt.Errorf("%d results for %d statements", len(output.Responses), len(batch))
	}
	for i, s := range batch {
		if errs[i] = err; err == nil {
			errs[i] = t.verdict(s, output.Responses[i].Error)
		}
		if errs[i] == nil {
			continue
		}
		if !errors.Is(errs[i], provider.ErrThrottled) {
			t.readAgain()
		}
		if !errors.Is(errs[i], claims.ErrTaken) {
			errs[i] = fmt.Errorf("write to DynamoDB table %s: %w", t.name, errs[i])
		}
	}
	return errs
}

// verdict returns the error of a statement's response.
func (t *table) verdict(s statement, e *types.BatchStatementError) error {
	switch {
	case e == nil:
		return nil
	case e.Code == types.BatchStatementErrorCodeEnumConditionalCheckFailed && s.item == nil:
		// Another process has removed or taken the item.
		t.readAgain()
		return nil
	case e.Code == types.BatchStatementErrorCodeEnumDuplicateItem, e.Code == types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return fmt.Errorf("%w in DynamoDB table %s: use another name, or remove its item there", claims.ErrTaken, t.name)
	case e.Code == types.BatchStatementErrorCodeEnumValidationError, e.Code == types.BatchStatementErrorCodeEnumItemCollectionSizeLimitExceeded:
		return fmt.Errorf("%w: %s: %s", claims.ErrRefused, e.Code, aws.ToString(e.Message))
	}
	err := fmt.Errorf("%s: %s", e.Code, aws.ToString(e.Message))
	if slices.Contains(throttledStatements, e.Code) {
		return &provider.ThrottledError{Err: err}
	}
	return err
}

package dynamodb

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/signpostd/signpost/dns"
)

// batchSize is how many statements DynamoDB accepts in one request.
const batchSize = 25

// statement is a write to the table.
type statement struct {
	key dns.Key
	// item is what the table has afterwards, or nil for a deletion.
	item *item
	// index is the number of the change that the statement is for, or -1.
	index int

	request types.BatchStatementRequest
}

func (t *Table) insert(key dns.Key, it *item, index int) statement {
	text := fmt.Sprintf(`INSERT INTO %q VALUE {'k':?, 'o':?, 'l':?}`, t.name)
	return newStatement(statement{key: key, item: it, index: index}, text, stringValue(it.k), stringValue(t.id), labelsValue(it.labels))
}

func (t *Table) update(key dns.Key, it *item, index int) statement {
	text := fmt.Sprintf(`UPDATE %q SET "l"=? WHERE "k"=? AND "o"=?`, t.name)
	return newStatement(statement{key: key, item: it, index: index}, text, labelsValue(it.labels), stringValue(it.k), stringValue(t.id))
}

func (t *Table) remove(key dns.Key, it *item) statement {
	text := fmt.Sprintf(`DELETE FROM %q WHERE "k"=? AND "o"=?`, t.name)
	return newStatement(statement{key: key, index: -1}, text, stringValue(it.k), stringValue(t.id))
}

func newStatement(s statement, text string, parameters ...types.AttributeValue) statement {
	s.request = types.BatchStatementRequest{Statement: aws.String(text), Parameters: parameters}
	return s
}

// execute writes to the table in batches. It returns the statements that failed because the
// item belongs to somebody else, or doesn't exist. After an error the table is read again.
func (t *Table) execute(ctx context.Context, statements []statement) (failed []statement, err error) {
	for len(statements) > 0 {
		batch := statements[:min(batchSize, len(statements))]
		statements = statements[len(batch):]
		input := &dynamodb.BatchExecuteStatementInput{}
		for _, s := range batch {
			input.Statements = append(input.Statements, s.request)
		}
		output, err := t.client.BatchExecuteStatement(ctx, input)
		if err != nil {
			t.forget()
			return nil, fmt.Errorf("write to DynamoDB table %s: %w", t.name, err)
		}
		if len(output.Responses) != len(batch) {
			t.forget()
			return nil, fmt.Errorf("write to DynamoDB table %s: %d answers to %d statements", t.name, len(output.Responses), len(batch))
		}
		var firstErr error
		for i, s := range batch {
			lost, err := verdict(output.Responses[i].Error)
			switch {
			case err != nil && firstErr == nil:
				firstErr = fmt.Errorf("write %s to DynamoDB table %s: %w", s.key.Name, t.name, err)
			case lost:
				failed = append(failed, s)
			case err == nil:
				t.store(s.key, s.item)
			}
		}
		if firstErr != nil {
			t.forget()
			return nil, firstErr
		}
	}
	if len(failed) > 0 {
		// The outcome isn't known, so memory may differ from the table.
		t.forget()
	}
	return failed, nil
}

// verdict reports whether a statement lost to another owner. Any other error is returned.
func verdict(e *types.BatchStatementError) (lost bool, err error) {
	switch {
	case e == nil:
		return false, nil
	case e.Code == types.BatchStatementErrorCodeEnumDuplicateItem, e.Code == types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return true, nil
	}
	return false, fmt.Errorf("%s: %s", e.Code, aws.ToString(e.Message))
}

package dynamodb

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// throttledStatements are the codes of statements that were not executed, because the table has no capacity left.
var throttledStatements = []types.BatchStatementErrorCodeEnum{
	types.BatchStatementErrorCodeEnumThrottlingError, types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded,
	types.BatchStatementErrorCodeEnumRequestLimitExceeded,
}

// isThrottled reports whether a request wasn't executed, because the table has no capacity left.
func isThrottled(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	_, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	return throttled
}

// allThrottled reports whether no statement of a batch was executed, because each was throttled.
func allThrottled(errs []error) bool {
	return !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, provider.ErrThrottled) })
}

// Pauses before a throttled page is read again.
const (
	firstPause = time.Second
	maxPause   = 20 * time.Second
)

// nextPage reads the next page of a scan. If the page is throttled, it is read again after a pause, until ctx
// ends: a scan that starts over would use the capacity for the pages before.
func nextPage(ctx context.Context, pages *dynamodb.ScanPaginator) (*dynamodb.ScanOutput, error) {
	for wait := firstPause; ; wait = min(2*wait, maxPause) {
		page, err := pages.NextPage(ctx)
		if !isThrottled(err) {
			return page, err
		}
		if pause.For(ctx, wait) != nil {
			return nil, &provider.ThrottledError{Err: err}
		}
	}
}

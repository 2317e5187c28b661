package aws

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxMessage limits the quoted text of Route 53 in bytes.
const maxMessage = 1024

// route53Service has the error codes of Route 53 (spec/clouds.md §1.8). Status 400 with any other
// code is a refusal, for example of more records than a zone may have.
var route53Service = &awsaccess.Service{
	Name: "Route 53", Prefix: "route53", Throttled: "other programs may use up the five requests a second of the account", Refuses: true,
	Codes: map[string]awsaccess.Class{
		"InvalidInput": {Outcome: provider.ErrRejected}, "ValidationError": {Outcome: provider.ErrRejected}, "ValidationException": {Outcome: provider.ErrRejected},
		"InvalidChangeBatch": {Outcome: provider.ErrRejected},
		"NoSuchHostedZone":   {Outcome: provider.ErrStale, Advice: "the zone was deleted, or is of another account"},
	},
}

// invalidBatch means that Route 53 refuses the whole batch.
type invalidBatch struct{ messages []string }

// Error implements error.
func (e *invalidBatch) Error() string {
	return fmt.Sprintf("Route 53 answered InvalidChangeBatch and %q", shorten(strings.Join(e.messages, ", ")))
}

// Unwrap returns the class of the error.
func (e *invalidBatch) Unwrap() error { return provider.ErrRejected }

func shorten(s string) string { return sanitize.Shorten(s, maxMessage) }

// batchError returns the error of a batch, with its messages if it was refused.
func batchError(err error) error {
	invalid, ok := errors.AsType[*types.InvalidChangeBatch](err)
	switch {
	case !ok:
		return err
	case len(invalid.Messages) == 0:
		return &invalidBatch{messages: []string{invalid.ErrorMessage()}}
	}
	return &invalidBatch{messages: invalid.Messages}
}

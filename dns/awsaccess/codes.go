package awsaccess

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Error codes that all AWS services have in common, and that say that nothing was done (API
// references, Common Errors): forbidden means a missing permission, and unauthenticated that the credentials
// aren't accepted. The message of such an error may repeat the request, including a token.
var (
	forbidden       = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "OptInRequired"}
	unauthenticated = []string{
		"InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException",
		"MissingAuthenticationToken", "IncompleteSignature", "InvalidSignatureException", "RequestExpired",
	}
)

// RetryThrottled returns the retryer for requests that change something: they are retried only if
// the response says that nothing was changed. After any other failure the first request may have
// been executed. attempts limits the tries; zero or less means the default of the SDK.
func RetryThrottled(attempts int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = cmp.Or(max(attempts, 0), o.MaxAttempts)
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}

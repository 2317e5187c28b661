package awsaccess

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Error codes that all AWS services have in common, and that say that nothing was done (API
// references, Common Errors).
var (
	forbidden   = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "OptInRequired"}
	credentials = []string{
		"InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException",
		"MissingAuthenticationToken", "IncompleteSignature", "InvalidSignatureException", "RequestExpired",
	}
)

// isForbidden reports whether an error code means a missing permission.
func isForbidden(code string) bool { return slices.Contains(forbidden, code) }

// isUnauthenticated reports whether an error code means that the credentials aren't accepted. The
// message of such an error may repeat the request, including a token.
func isUnauthenticated(code string) bool { return slices.Contains(credentials, code) }

// isThrottled reports whether an error code means that there were too many requests.
func isThrottled(code string) bool {
	_, throttle := retry.DefaultThrottleErrorCodes[code]
	return throttle
}

// RetryThrottled returns the retryer for requests that change something: they are retried only if
// the response says that nothing was changed. After any other failure the first request may have
// been executed. attempts limits the tries; zero or less means the default of the SDK.
func RetryThrottled(attempts int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = cmp.Or(max(attempts, 0), o.MaxAttempts)
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}

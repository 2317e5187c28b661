package awsaccess

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// The codes of errors that all services of AWS have in common, and that say that nothing was
// done (API references, Common Errors).
var (
	forbidden   = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "OptInRequired"}
	credentials = []string{
		"InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException",
		"MissingAuthenticationToken", "IncompleteSignature", "InvalidSignatureException", "RequestExpired",
	}
)

// IsForbidden reports whether the code of an error says that a right is missing.
func IsForbidden(code string) bool { return slices.Contains(forbidden, code) }

// IsUnknown reports whether the code of an error says that the credentials aren't accepted. The
// message of such an error may repeat the request, with a token in it.
func IsUnknown(code string) bool { return slices.Contains(credentials, code) }

// IsThrottled reports whether the code of an error says that there were too many requests.
func IsThrottled(code string) bool {
	_, throttle := retry.DefaultThrottleErrorCodes[code]
	return throttle
}

// RetryThrottled is how requests are sent that change something: again only after an answer that
// says that nothing was changed. After any other failure the first request may have been carried
// out. Attempts is how often a request is tried; zero or less stands for the default of the SDK.
func RetryThrottled(attempts int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = cmp.Or(max(attempts, 0), o.MaxAttempts)
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}

package awsaccess

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/internal/version"
)

// tryTimeout limits one try of a request.
const tryTimeout = time.Minute

// Access configures the connection to AWS.
type Access struct {
	// Region is for regional services; empty means that of the environment.
	Region string
	// DefaultRegion is used if neither Region nor the environment has one.
	DefaultRegion string
	// Profile is a profile of the shared configuration; empty means the default one.
	Profile string
	// AssumeRole is the ARN of a role to assume, with ExternalID; empty means none.
	AssumeRole, ExternalID string
	// Attempts limits the tries of a request. Zero or less means the default of the SDK.
	Attempts int
	// Log receives messages of the SDK; nil drops them.
	Log *slog.Logger
	// Wrap wraps the transport of requests. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Load returns the configuration for service clients. It doesn't contact AWS. The region of the
// result may be empty.
func (a Access) Load(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(a.Region), config.WithSharedConfigProfile(a.Profile),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(tryTimeout)),
		config.WithLogger(sdkLogger(a.Log)), // providers of credentials would write to standard error
	}
	if a.Attempts > 0 {
		options = append(options, config.WithRetryMaxAttempts(a.Attempts))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("configure AWS: %w", err)
	}
	if cfg.Credentials, err = a.credentials(ctx, cfg, options); err != nil {
		return aws.Config{}, err
	}
	if usual, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		// The client of the SDK would follow some redirects to any host, with the session token.
		cfg.HTTPClient = &http.Client{Transport: usual.GetTransport(), Timeout: usual.GetTimeout(), CheckRedirect: noRedirect}
	}
	cfg.Region = cmp.Or(cfg.Region, a.DefaultRegion)
	cfg.APIOptions = append(cfg.APIOptions, middleware.AddUserAgentKeyValue("signpost", version.Current()))
	next := Transport(cfg.HTTPClient)
	if a.Wrap != nil {
		next = a.Wrap(next)
	}
	cfg.HTTPClient = Client(next)
	if a.AssumeRole != "" {
		role := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), a.AssumeRole, func(o *stscreds.AssumeRoleOptions) {
			if a.ExternalID != "" {
				o.ExternalID = aws.String(a.ExternalID)
			}
		})
		cfg.Credentials = aws.NewCredentialsCache(role)
	}
	return cfg, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sdkLogger returns a logger for the SDK, which otherwise writes to stderr.
func sdkLogger(log *slog.Logger) logging.Logger {
	if log == nil {
		return logging.Nop{}
	}
	return logging.LoggerFunc(func(class logging.Classification, format string, values ...any) {
		level := slog.LevelDebug
		if class == logging.Warn {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "The SDK of AWS reported something", "text", sanitize.Text(fmt.Sprintf(format, values...)))
	})
}

// Transport returns a transport that sends through a client of the SDK.
func Transport(client aws.HTTPClient) http.RoundTripper { return transport{client: client} }

// Client returns a client for the SDK that sends through a transport.
func Client(next http.RoundTripper) aws.HTTPClient { return sender{next: next} }

type transport struct{ client aws.HTTPClient }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.client.Do(r) }

type sender struct{ next http.RoundTripper }

// Do implements [aws.HTTPClient]. The SDK closes the body of a request when the response begins. The body's
// WriteTo then returns io.EOF, which net/http takes for a failed write: it closes the connection, and the
// response can't be read. Do therefore hides WriteTo.
func (s sender) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r = r.WithContext(r.Context()) // a copy
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return s.next.RoundTrip(r)
}

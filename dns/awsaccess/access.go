package awsaccess

import (
	"cmp"
	"context"
	"fmt"
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

// tryTimeout is how long one try of a request may take.
const tryTimeout = time.Minute

// Access says how to reach AWS.
type Access struct {
	// Region is for services that have one in each region; empty is that of the environment.
	Region string
	// DefaultRegion is used where neither Region nor the environment says one.
	DefaultRegion string
	// Profile is a profile of the shared configuration; empty is the usual one.
	Profile string
	// AssumeRole is the ARN of a role to assume; empty is none. ExternalID goes along with it.
	AssumeRole, ExternalID string
	// Attempts is how often a request is tried. Zero or less stands for the default of the SDK.
	Attempts int
	// Log gets what the SDK has to say; without it, that is dropped.
	Log *slog.Logger
	// Wrap wraps the transport of requests. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Load returns the configuration for the clients of services. It doesn't contact AWS. The region
// of the result may be empty.
func (a Access) Load(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(a.Region), config.WithSharedConfigProfile(a.Profile),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(tryTimeout)),
	}
	if a.Attempts > 0 {
		options = append(options, config.WithRetryMaxAttempts(a.Attempts))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("configure AWS: %w", err)
	}
	cfg.Logger = sdkLogger(a.Log)
	if usual, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		// The client of the SDK follows some redirections, to any host, with the token of the session.
		cfg.HTTPClient = &http.Client{Transport: usual.GetTransport(), Timeout: usual.GetTimeout(), CheckRedirect: noRedirect}
	}
	cfg.Region = cmp.Or(cfg.Region, a.DefaultRegion)
	cfg.APIOptions = append(cfg.APIOptions, middleware.AddUserAgentKeyValue("signpost", version.Current()))
	if a.Wrap != nil {
		cfg.HTTPClient = Client(a.Wrap(Transport(cfg.HTTPClient)))
	}
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

// sdkLogger returns a logger for the SDK. By itself the SDK writes to stderr, past the log of the
// process.
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

// Do implements [aws.HTTPClient].
func (s sender) Do(r *http.Request) (*http.Response, error) { return s.next.RoundTrip(r) }

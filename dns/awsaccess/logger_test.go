package awsaccess

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/smithy-go/logging"
)

// What the SDK has to say becomes a line of the log, in its format, and not one on stderr (tenants
// S17).
func TestLogger(t *testing.T) {
	for name, value := range map[string]string{"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_CA_BUNDLE": ""} {
		t.Setenv(name, value)
	}
	var out bytes.Buffer
	cfg, err := Access{Log: slog.New(slog.NewJSONHandler(&out, nil))}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger.Logf(logging.Warn, "Response has no supported checksum: %s", "a\n\x1b[31mb")
	cfg.Logger.Logf(logging.Debug, "Not shown at the usual level")
	var line struct{ Level, Text string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Level != "WARN" || line.Text != "Response has no supported checksum: a  [31mb" {
		t.Errorf("the log has %q, %v", out.String(), err)
	}
	if cfg, err = (Access{}).Load(t.Context()); err != nil || cfg.Logger != (logging.Nop{}) {
		t.Errorf("without a log: %T, %v", cfg.Logger, err)
	}
}

// The search for credentials logs to the same log, and not to standard error.
func TestLoggerOfCredentials(t *testing.T) {
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer metadata.Close()
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL,
	} {
		t.Setenv(name, value)
	}
	var out bytes.Buffer
	cfg, err := Access{Log: slog.New(slog.NewJSONHandler(&out, nil))}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.Credentials.Retrieve(t.Context()); err == nil {
		t.Error("credentials without any source")
	}
	if !strings.Contains(out.String(), "IMDSv1") {
		t.Errorf("the log has %q", out.String())
	}
}

package awstest

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// Start serves a fake API, and sets the environment so that the SDK finds it as in users'
// processes: endpoint is the variable with its address. Nothing else of AWS is configured but the
// region, which may be empty.
func Start(t *testing.T, api http.Handler, endpoint, region string) {
	t.Helper()
	web := httptest.NewServer(api)
	t.Cleanup(web.Close)
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		endpoint: web.URL, "AWS_ACCESS_KEY_ID": AccessKeyID, "AWS_SECRET_ACCESS_KEY": SecretAccessKey, "AWS_REGION": region,
		"AWS_SESSION_TOKEN": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

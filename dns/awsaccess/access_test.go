package awsaccess

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/signpostd/signpost/internal/handlertransport"
)

// Each profile is an access of its own, with what all have in common.
func TestEach(t *testing.T) {
	f := NewSettings()
	f.AssumeRole, f.ExternalID = "arn:aws:iam::1:role/dns", "id"
	if list := f.Each(); len(list) != 1 || list[0].Profile != "" || list[0].Attempts != 3 || list[0].AssumeRole != f.AssumeRole {
		t.Errorf("without profiles: %+v", list)
	}
	f.Profiles = []string{"a", "b"}
	if list := f.Each(); len(list) != 2 || list[1].Profile != "b" || list[1].ExternalID != "id" {
		t.Errorf("with two: %+v", list)
	}
}

type counter struct {
	http.RoundTripper
	sent *int
}

func (c counter) RoundTrip(*http.Request) (*http.Response, error) {
	*c.sent++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// The region is that of the setting, of the environment, or else the default one. Requests go
// through Wrap.
func TestLoad(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "", "AWS_DEFAULT_REGION": "",
	} {
		t.Setenv(name, value)
	}
	for _, test := range [][3]string{{"", "", "us-east-1"}, {"", "eu-west-1", "eu-west-1"}, {"cn-north-1", "eu-west-1", "cn-north-1"}} {
		t.Setenv("AWS_REGION", test[1])
		sent := 0
		cfg, err := Access{Region: test[0], DefaultRegion: "us-east-1", Wrap: func(next http.RoundTripper) http.RoundTripper { return counter{next, &sent} }}.Load(t.Context())
		if err != nil || cfg.Region != test[2] {
			t.Errorf("%v: region %s, %v", test, cfg.Region, err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := cfg.HTTPClient.Do(req)
		if err != nil || sent != 1 {
			t.Errorf("%d requests, %v", sent, err)
			continue
		}
		_ = resp.Body.Close()
	}
	if _, err := (Access{Profile: "missing"}).Load(t.Context()); err == nil {
		t.Error("a profile that doesn't exist is no error")
	}
}

// The SDK closes the body of a request when the response begins, and net/http may read the body once more
// after that. That must be the end of the body, not an error, because net/http would close the connection.
func TestClosedBody(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
	} {
		t.Setenv(name, value)
	}
	sent := 0
	cfg, err := Access{Region: "eu-north-1", Wrap: func(http.RoundTripper) http.RoundTripper {
		return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			sent++
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			_ = r.Body.Close()
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Errorf("the body after its end: %v", err)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<GetCallerIdentityResponse/>")), Request: r}, nil
		})
	}}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if sent != 1 {
		t.Errorf("%d requests, %v", sent, err)
	}
}

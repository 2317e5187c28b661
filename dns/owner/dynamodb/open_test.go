package dynamodb

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

type counter struct {
	http.RoundTripper
	calls int
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls++
	return c.RoundTripper.RoundTrip(r)
}

func TestOpen(t *testing.T) {
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, t.TempDir()+"/none")
	}
	for name, value := range map[string]string{"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CA_BUNDLE": ""} {
		t.Setenv(name, value)
	}
	if _, err := Open(t.Context(), awsaccess.Access{}); err == nil || !strings.Contains(err.Error(), "--dynamodb-region") {
		t.Errorf("without a region: got error %v", err)
	}
	f, _ := newTable(t)
	plain := httptest.NewServer(f)
	t.Cleanup(plain.Close)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", plain.URL)
	load(t, f)
	// With certificates of the user's own.
	server := httptest.NewTLSServer(f)
	t.Cleanup(server.Close)
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", server.URL)
	load(t, f)
}

// load reads a table through a client that Open makes.
func load(t *testing.T, f *dynamodbtest.Table) {
	t.Helper()
	sent := &counter{}
	client, err := Open(t.Context(), awsaccess.Access{Region: "eu-north-1", Attempts: 3, Wrap: func(next http.RoundTripper) http.RoundTripper {
		sent.RoundTripper = next
		return sent
	}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(client, Options{OwnerID: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare(t, "calls", []string{"DescribeTable", "Scan"}, f.Take())
	if sent.calls != 2 {
		t.Errorf("%d requests were counted, want 2", sent.calls)
	}
}

// endless is a transport whose answers have no end.
type endless struct{}

func (endless) RoundTrip(r *http.Request) (*http.Response, error) {
	again := strings.Repeat("{},", 1000)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(`{"Table":{"AttributeDefinitions":[`), forever(again))),
	}, nil
}

// forever is a text that comes again and again.
type forever string

func (f forever) Read(into []byte) (int, error) {
	n := copy(into, f)
	return n - n%len("{},"), nil
}

// A table with more items of ours than there may be record sets is an error, and so is an answer
// that doesn't end. Items of others aren't kept, and so aren't counted.
func TestHostile(t *testing.T) {
	f, _ := newTable(t)
	for i := range 5 {
		f.Put(fmt.Sprintf("n%d.shop.test#A#", i), dynamodbtest.Row{Owner: "me"})
		f.Put(fmt.Sprintf("o%d.shop.test#A#", i), dynamodbtest.Row{Owner: "other"})
	}
	for most, want := range map[int]string{5: "", 4: "--max-records"} {
		o, err := New(f.Client(nil), Options{OwnerID: "me", Budget: listlimit.New(listlimit.Limits{Records: most})})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Load(t.Context()); (err != nil) != (want != "") || want != "" && (!errors.Is(err, listlimit.ErrExceeded) || !strings.Contains(err.Error(), want)) {
			t.Errorf("at most %d: %v", most, err)
		}
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CA_BUNDLE": "", "AWS_PROFILE": ""} {
		t.Setenv(name, value)
	}
	client, err := Open(t.Context(), awsaccess.Access{Region: "eu-north-1", Attempts: 1, Wrap: func(http.RoundTripper) http.RoundTripper { return endless{} }})
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(client, Options{OwnerID: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Load(t.Context()); !errors.Is(err, httpapi.ErrTooLarge) {
		t.Errorf("an answer without an end: %v", err)
	}
}

func TestAssumeRole(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") != "AssumeRole" || r.FormValue("RoleArn") != "arn:aws:iam::1:role/dns" || r.FormValue("ExternalId") != "ext" {
			t.Errorf("request %v", r.Form)
		}
		fmt.Fprint(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>assumed</AccessKeyId>`+
			`<SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`)
	}))
	t.Cleanup(tokens.Close)
	t.Setenv("AWS_ENDPOINT_URL_STS", tokens.URL)
	client, err := Open(t.Context(), awsaccess.Access{Region: "eu-north-1", AssumeRole: "arn:aws:iam::1:role/dns", ExternalID: "ext"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Options().Credentials.Retrieve(t.Context())
	if err != nil || got.AccessKeyID != "assumed" || got.SessionToken != "token" {
		t.Errorf("got the key %s, error %v", got.AccessKeyID, err)
	}
}

package dynamodb

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

// If the response to a write is lost, the write isn't repeated: its own item would count as that of another
// owner.
func TestLostResponse(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	table, lost := dynamodbtest.New(t), 0
	next := handlertransport.New(table)
	client, err := Open(t.Context(), awsaccess.Access{Region: "eu-north-1", Attempts: 3, Wrap: func(http.RoundTripper) http.RoundTripper {
		return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if lost == 0 && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchExecuteStatement") {
				lost++
				return nil, errors.New("connection reset by peer")
			}
			return resp, err
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	o, err := New(client, Options{OwnerID: "me", Problems: func(p dns.Problem) { problems = append(problems, p.Reason) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	change := []dns.Change{{New: set("www.z.org A 1.1.1.1")}}
	_, refused, err := o.Before(t.Context(), zone{}.lookup, change)
	if err == nil || len(refused)+len(problems) > 0 || lost != 1 {
		t.Errorf("refused %v with %v, error %v", showAll(refused), problems, err)
	}
	if err := o.Load(t.Context()); err != nil {
		t.Error(err)
	}
	if apply, _, err := o.Before(t.Context(), zone{}.lookup, change); err != nil || len(apply) != 1 {
		t.Errorf("again: %v, %v", showAll(apply), err)
	}
}

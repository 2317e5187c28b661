package dynamodbtest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/signpostd/signpost/internal/handlertransport"
)

// value is an attribute in DynamoDB's JSON.
type value struct {
	S *string          `json:",omitempty"`
	M map[string]value `json:",omitempty"`
}

func (v value) text() string { return aws.ToString(v.S) }

// Row is an item of the table.
type Row struct {
	Owner  string
	Labels map[string]string
}

// Table is a DynamoDB with one table, served over HTTP. Access its fields only while nothing is called;
// otherwise use [Table.Rows].
type Table struct {
	t  testing.TB
	mu sync.Mutex
	// Items are the items, by key.
	Items map[string]Row
	// calls are the operations, and for writes each statement with its key.
	calls []string
	// Description is the response to DescribeTable. PageSize limits a page of a scan.
	Description string
	PageSize    int
	// Fail makes the next statements of a kind fail with a code.
	Fail map[string]string
	// Down makes all requests fail.
	Down bool
	// Throttled, if not nil, reports whether the table has no capacity left for a page of a scan, or for a
	// statement.
	Throttled func(operation string) bool
}

// GoodDescription describes a table with the required schema.
const GoodDescription = `{"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}`

// New returns an empty table.
func New(t testing.TB) *Table {
	return &Table{t: t, Items: map[string]Row{}, Description: GoodDescription, PageSize: 100, Fail: map[string]string{}}
}

// Client returns a client of the table. Wrap, if not nil, wraps its transport.
func (f *Table) Client(wrap func(http.RoundTripper) http.RoundTripper) *dynamodb.Client {
	transport := handlertransport.New(f)
	if wrap != nil {
		transport = wrap(transport)
	}
	return dynamodb.New(dynamodb.Options{
		Region: "eu-north-1", BaseEndpoint: aws.String("http://dynamodb.invalid"), Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
		Retryer: aws.NopRetryer{}, HTTPClient: &http.Client{Transport: transport},
	})
}

// Rows returns the items, by their key.
func (f *Table) Rows() map[string]Row {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.Items)
}

// Put adds an item, or replaces it.
func (f *Table) Put(key string, r Row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Items[key] = r
}

// ServeHTTP implements [http.Handler].
func (f *Table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("x-amzn-RequestId", rand.Text())
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if !ok || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-amz-json-1.0" {
		f.t.Errorf("request %s %s with the headers %v", r.Method, r.URL, r.Header)
	}
	switch {
	case f.Down:
		refuse(w, "AccessDeniedException")
		return
	case operation == "Scan" && f.throttled(operation):
		refuse(w, "ProvisionedThroughputExceededException")
		return
	}
	var answer any
	switch operation {
	case "DescribeTable":
		f.calls = append(f.calls, operation)
		var in struct{ TableName string }
		f.decode(r, &in)
		if in.TableName != "external-dns" {
			f.t.Errorf("table %q is described", in.TableName)
		}
		answer = map[string]any{"Table": json.RawMessage(f.Description)}
	case "Scan":
		f.calls = append(f.calls, operation)
		answer = f.scan(r)
	case "BatchExecuteStatement":
		answer = f.execute(r)
	default:
		f.t.Errorf("operation %q", operation)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		f.t.Error(err)
	}
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(body)))
	if _, err := w.Write(body); err != nil {
		f.t.Error(err)
	}
}

// refuse writes an error response.
func refuse(w http.ResponseWriter, code string) {
	body := fmt.Sprintf(`{"__type": "com.amazonaws.dynamodb.v20120810#%s", "message": "no"}`, code)
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, body)
}

func (f *Table) throttled(operation string) bool { return f.Throttled != nil && f.Throttled(operation) }

func (f *Table) decode(r *http.Request, to any) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		f.t.Errorf("request %s: %v", r.Header.Get("X-Amz-Target"), err)
	}
}

func (f *Table) scan(r *http.Request) any {
	var in struct {
		TableName, FilterExpression, ProjectionExpression string
		ExpressionAttributeValues                         map[string]value
		ConsistentRead                                    bool
		ExclusiveStartKey                                 map[string]value
	}
	f.decode(r, &in)
	if in.TableName != "external-dns" || in.FilterExpression != "o = :ownerval" || in.ProjectionExpression != "k,l" || !in.ConsistentRead {
		f.t.Errorf("scan %+v", in)
	}
	keys := slices.Sorted(maps.Keys(f.Items))
	start := 0
	if in.ExclusiveStartKey != nil {
		i, found := slices.BinarySearch(keys, in.ExclusiveStartKey["k"].text())
		if start = i; found {
			start = i + 1
		}
	}
	page := keys[start:min(start+f.PageSize, len(keys))]
	items := []map[string]value{}
	for _, k := range page {
		// A filter is applied after a page was read, so a page can be empty.
		if row := f.Items[k]; row.Owner == in.ExpressionAttributeValues[":ownerval"].text() {
			items = append(items, map[string]value{"k": {S: &k}, "l": labelsOf(row.Labels)})
		}
	}
	answer := map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(page)}
	if start+len(page) < len(keys) {
		answer["LastEvaluatedKey"] = map[string]value{"k": {S: &page[len(page)-1]}}
	}
	return answer
}

func labelsOf(labels map[string]string) value {
	v := value{M: map[string]value{}}
	for name, text := range labels {
		v.M[name] = value{S: &text}
	}
	return v
}

func (f *Table) execute(r *http.Request) any {
	var in struct {
		Statements []struct {
			Statement  string
			Parameters []json.RawMessage
		}
	}
	f.decode(r, &in)
	if len(in.Statements) == 0 || len(in.Statements) > 25 {
		f.t.Errorf("a batch of %d statements", len(in.Statements))
	}
	f.calls = append(f.calls, fmt.Sprint("batch of ", len(in.Statements)))
	responses := []map[string]any{}
	for _, s := range in.Statements {
		parameters := make([]value, len(s.Parameters))
		for i, raw := range s.Parameters {
			if err := json.Unmarshal(raw, &parameters[i]); err != nil {
				f.t.Errorf("parameter %s: %v", raw, err)
			}
		}
		response := map[string]any{"TableName": "external-dns"}
		if code := f.write(s.Statement, parameters); code != "" {
			response["Error"] = map[string]string{"Code": code, "Message": "says the fake"}
		}
		responses = append(responses, response)
	}
	return map[string]any{"Responses": responses}
}

// write executes one statement and returns the error code.
func (f *Table) write(statement string, p []value) string {
	verb, _, _ := strings.Cut(statement, " ")
	var key, owner string
	var labels map[string]string
	switch {
	case statement == `INSERT INTO "external-dns" VALUE {'k':?, 'o':?, 'l':?}` && len(p) == 3:
		key, owner, labels = p[0].text(), p[1].text(), textsOf(p[2])
	case statement == `UPDATE "external-dns" SET "l"=? WHERE "k"=? AND "o"=?` && len(p) == 3:
		labels, key, owner = textsOf(p[0]), p[1].text(), p[2].text()
	case statement == `DELETE FROM "external-dns" WHERE "k"=? AND "o"=?` && len(p) == 2:
		key, owner = p[0].text(), p[1].text()
	default:
		f.t.Errorf("statement %s with %d parameters", statement, len(p))
	}
	f.calls = append(f.calls, verb+" "+key)
	if code := f.Fail[verb+" "+key]; code != "" {
		return code
	}
	if f.throttled(verb) {
		return "ThrottlingError"
	}
	had, there := f.Items[key]
	switch {
	case verb == "INSERT" && there:
		return "DuplicateItem"
	case verb != "INSERT" && (!there || had.Owner != owner):
		return "ConditionalCheckFailed"
	case verb == "DELETE":
		delete(f.Items, key)
	default:
		f.Items[key] = Row{Owner: owner, Labels: labels}
	}
	return ""
}

func textsOf(v value) map[string]string {
	labels := map[string]string{}
	for name, text := range v.M {
		labels[name] = text.text()
	}
	return labels
}

// Take returns the calls since it was last called.
func (f *Table) Take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

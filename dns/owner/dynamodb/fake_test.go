package dynamodb

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// value is an attribute as DynamoDB has it in JSON.
type value struct {
	S *string          `json:",omitempty"`
	M map[string]value `json:",omitempty"`
}

func (v value) text() string { return aws.ToString(v.S) }

// row is an item of the fake table.
type row struct {
	owner  string
	labels map[string]string
}

// table is a DynamoDB that has one table, and answers requests over HTTP.
type table struct {
	t  testing.TB
	mu sync.Mutex
	// rows are the items, by their key.
	rows map[string]row
	// calls are the operations, and for writes each statement with its key.
	calls []string
	// description answers DescribeTable; pageSize limits a page of a scan.
	description string
	pageSize    int
	// fail has the next statements of a kind fail with a code.
	fail map[string]string
	// down has all requests answered with an error.
	down bool
}

const goodDescription = `{"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}`

func newTable(t testing.TB) (*table, *dynamodb.Client) {
	f := &table{t: t, rows: map[string]row{}, description: goodDescription, pageSize: 100, fail: map[string]string{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-north-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
		Retryer: aws.NopRetryer{}, HTTPClient: server.Client(),
	})
	return f, client
}

func (f *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if !ok || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-amz-json-1.0" {
		f.t.Errorf("request %s %s with the headers %v", r.Method, r.URL, r.Header)
	}
	if f.down {
		const body = `{"__type": "com.amazonaws.dynamodb.v20120810#AccessDeniedException", "message": "no"}`
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, body)
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
		answer = map[string]any{"Table": json.RawMessage(f.description)}
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

func (f *table) decode(r *http.Request, to any) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		f.t.Errorf("request %s: %v", r.Header.Get("X-Amz-Target"), err)
	}
}

func (f *table) scan(r *http.Request) any {
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
	keys := slices.Sorted(maps.Keys(f.rows))
	start := 0
	if in.ExclusiveStartKey != nil {
		i, found := slices.BinarySearch(keys, in.ExclusiveStartKey["k"].text())
		if start = i; found {
			start = i + 1
		}
	}
	page := keys[start:min(start+f.pageSize, len(keys))]
	items := []map[string]value{}
	for _, k := range page {
		// A filter is applied after a page was read, so that a page can be empty.
		if row := f.rows[k]; row.owner == in.ExpressionAttributeValues[":ownerval"].text() {
			items = append(items, map[string]value{"k": {S: &k}, "l": labelsOf(row.labels)})
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

func (f *table) execute(r *http.Request) any {
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

// write makes one statement, and returns the code of the error.
func (f *table) write(statement string, p []value) string {
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
	if code := f.fail[verb+" "+key]; code != "" {
		return code
	}
	had, there := f.rows[key]
	switch {
	case verb == "INSERT" && there:
		return "DuplicateItem"
	case verb != "INSERT" && (!there || had.owner != owner):
		return "ConditionalCheckFailed"
	case verb == "DELETE":
		delete(f.rows, key)
	default:
		f.rows[key] = row{owner: owner, labels: labels}
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

// take returns what was called since it was called last.
func (f *table) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

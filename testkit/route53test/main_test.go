package route53test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/awstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sender struct{ http.RoundTripper }

func (s sender) Do(r *http.Request) (*http.Response, error) { return s.RoundTrip(r) }

// client returns the SDK's client for a server.
func client(server *Server, key, secret string) *route53.Client {
	return route53.New(route53.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""), HTTPClient: sender{server.Transport()}, Retryer: aws.NopRetryer{},
	})
}

// newServer returns a server with the public zone Z1, example.test, and its client.
func newServer() (*Server, *route53.Client) {
	server := New()
	server.AddZone(Zone{ID: "Z1", Name: "example.test"})
	return server, client(server, awstest.AccessKeyID, awstest.SecretAccessKey)
}

func values(texts ...string) []types.ResourceRecord {
	var list []types.ResourceRecord
	for _, text := range texts {
		list = append(list, types.ResourceRecord{Value: aws.String(text)})
	}
	return list
}

// set returns a record set below example.test, with a TTL.
func set(name, recordType string, texts ...string) *types.ResourceRecordSet {
	return &types.ResourceRecordSet{Name: aws.String(name + ".example.test"), Type: types.RRType(recordType), TTL: aws.Int64(60), ResourceRecords: values(texts...)}
}

func with(r *types.ResourceRecordSet, change func(*types.ResourceRecordSet)) *types.ResourceRecordSet {
	change(r)
	return r
}

func create(sets ...*types.ResourceRecordSet) []types.Change { return changes("CREATE", sets...) }

func changes(action types.ChangeAction, sets ...*types.ResourceRecordSet) []types.Change {
	var list []types.Change
	for _, s := range sets {
		list = append(list, types.Change{Action: action, ResourceRecordSet: s})
	}
	return list
}

// send sends a batch, and returns the code and the message of the answer.
func send(t *testing.T, c *route53.Client, batch ...types.Change) (code, message string) {
	t.Helper()
	_, err := c.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String("Z1"), ChangeBatch: &types.ChangeBatch{Changes: batch}})
	return codeOf(t, err)
}

func codeOf(t *testing.T, err error) (code, message string) {
	t.Helper()
	if err == nil {
		return "", ""
	}
	if invalid, ok := errors.AsType[*types.InvalidChangeBatch](err); ok {
		return "InvalidChangeBatch", strings.Join(append(invalid.Messages, invalid.ErrorMessage()), " ")
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		t.Fatalf("not an answer: %v", err)
	}
	return api.ErrorCode(), api.ErrorMessage()
}

func must(t *testing.T, c *route53.Client, batch ...types.Change) {
	t.Helper()
	if code, message := send(t, c, batch...); code != "" {
		t.Fatalf("%s: %s", code, message)
	}
}

// API_ChangeResourceRecordSets and API_ResourceRecordSet: what a batch is refused for. Nothing
// of a refused batch is made.
func TestRefusedBatches(t *testing.T) {
	alias := func(target, zone string) func(*types.ResourceRecordSet) {
		return func(r *types.ResourceRecordSet) {
			r.TTL, r.ResourceRecords = nil, nil
			r.AliasTarget = &types.AliasTarget{DNSName: &target, HostedZoneId: &zone}
		}
	}
	weighted := func(id string, weight int64) func(*types.ResourceRecordSet) {
		return func(r *types.ResourceRecordSet) { r.SetIdentifier, r.Weight = &id, &weight }
	}
	there := []*types.ResourceRecordSet{set("a", "A", "192.0.2.1"), set("c", "CNAME", "x.example.net"), with(set("w", "A", "192.0.2.1"), weighted("one", 1)), with(set("alias", "A"), alias("a.example.test", "Z1"))}
	many := make([]string, 401)
	for i := range many {
		many[i] = fmt.Sprintf("10.0.%d.%d", i/250, i%250)
	}
	for name, test := range map[string]struct {
		batch []types.Change
		want  string
	}{
		"create what exists":        {create(set("a", "A", "192.0.2.9")), "[name='a.example.test.', type='A'] but it already exists"},
		"delete what doesn't exist": {changes("DELETE", set("b", "A", "192.0.2.1")), "[name='b.example.test.', type='A'] but it was not found"},
		"delete with another value": {changes("DELETE", set("c", "CNAME", "y.example.net")), "do not match the current values"},
		"delete with another TTL":   {changes("DELETE", with(set("c", "CNAME", "x.example.net"), func(r *types.ResourceRecordSet) { r.TTL = aws.Int64(61) })), "do not match the current values"},
		"the same twice":            {create(set("b", "A", "192.0.2.1"), set("b", "A", "192.0.2.2")), "invalid set of changes"},
		"CREATE and UPSERT":         {append(create(set("b", "A", "192.0.2.1")), changes("UPSERT", set("b", "A", "192.0.2.2"))...), "invalid set of changes"},
		"CNAME beside another":      {create(set("a", "CNAME", "x.example.net")), "conflicts with other records"},
		"another beside a CNAME":    {create(set("c", "TXT", `"x"`)), "conflicts with other records"},
		"CNAME at the apex":         {create(with(set("", "CNAME", "x.example.net"), func(r *types.ResourceRecordSet) { r.Name = aws.String("example.test") })), "not permitted at apex"},
		"outside":                   {create(with(set("", "A", "192.0.2.1"), func(r *types.ResourceRecordSet) { r.Name = aws.String("notexample.test") })), "is not permitted in zone"},
		"NS of the apex":            {changes("DELETE", with(set("", "NS", "ns-1.awsdns-01.org.", "ns-2.awsdns-02.co.uk."), func(r *types.ResourceRecordSet) { r.Name, r.TTL = aws.String("example.test"), aws.Int64(172800) })), "must contain at least one NS"},
		"unknown type":              {create(set("b", "DNAME", "x.example.net")), "enum value set"},
		"empty label":               {create(set("b..x", "A", "192.0.2.1")), "DomainLabel"},
		"address":                   {create(set("b", "A", "2001:db8::1")), "Invalid Resource Record"},
		"IPv6 address":              {create(set("b", "AAAA", "192.0.2.1")), "Invalid Resource Record"},
		"MX":                        {create(set("b", "MX", "mx.example.net")), "Invalid Resource Record"},
		"SRV":                       {create(set("b", "SRV", "1 2 x.example.net")), "Invalid Resource Record"},
		"TXT without quotes":        {create(set("b", "TXT", "text")), "quotation marks"},
		"TXT without an end":        {create(set("b", "TXT", `"text`)), "no end"},
		"TXT with a byte":           {create(set("b", "TXT", "\"\u00e4\"")), "has to be escaped"},
		"TXT string of 256":         {create(set("b", "TXT", `"`+strings.Repeat("x", 256)+`"`)), "CharacterStringTooLong"},
		"TXT value of 4001":         {create(set("b", "TXT", strings.TrimSpace(strings.Repeat(`"`+strings.Repeat("x", 200)+`" `, 20)))), "4000"},
		"no TTL":                    {create(with(set("b", "A", "192.0.2.1"), func(r *types.ResourceRecordSet) { r.TTL = nil })), "Missing field 'TTL'"},
		"no value":                  {create(set("b", "A")), "Missing field"},
		"one value twice":           {create(set("b", "A", "192.0.2.1", "192.0.2.1")), "Duplicate Resource Record"},
		"401 values":                {create(set("b", "A", many...)), "more than 400"},
		"two CNAMEs":                {create(set("b", "CNAME", "x.example.net", "y.example.net")), "more than one value"},
		"alias to another name":     {create(with(set("b", "A"), alias("x.example.net", "Z1"))), "does not lie within the target zone"},
		"alias to what isn't there": {create(with(set("b", "A"), alias("b2.example.test", "Z1"))), "that target was not found"},
		"alias to another type":     {create(with(set("b", "AAAA"), alias("a.example.test", "Z1"))), "that target was not found"},
		"alias to an unknown zone":  {create(with(set("b", "A"), alias("x.example.net", "Z99"))), "does not lie within the target zone"},
		"alias with a TTL":          {create(with(with(set("b", "A"), alias("a.example.test", "Z1")), func(r *types.ResourceRecordSet) { r.TTL = aws.Int64(1) })), "found more than one"},
		"target of an alias":        {changes("DELETE", there[0]), "is the target of the alias"},
		"policy without identifier": {create(with(set("b", "A", "192.0.2.1"), func(r *types.ResourceRecordSet) { r.Weight = aws.Int64(1) })), "must have a SetIdentifier and exactly one"},
		"identifier without policy": {create(with(set("b", "A", "192.0.2.1"), func(r *types.ResourceRecordSet) { r.SetIdentifier = aws.String("x") })), "must have a SetIdentifier and exactly one"},
		"two policies":              {create(with(with(set("b", "A", "192.0.2.1"), weighted("x", 1)), func(r *types.ResourceRecordSet) { r.Region = "eu-west-1" })), "exactly one"},
		"another policy":            {create(with(set("w", "A", "192.0.2.2"), func(r *types.ResourceRecordSet) { r.SetIdentifier, r.Region = aws.String("two"), "eu-west-1" })), "another routing policy"},
		"simple beside weighted":    {create(set("w", "A", "192.0.2.2")), "another routing policy"},
		"weight of 256":             {create(with(set("w", "A", "192.0.2.2"), weighted("two", 256))), "from 0 to 255"},
		"multivalue with two": {create(with(set("b", "A", "192.0.2.1", "192.0.2.2"), func(r *types.ResourceRecordSet) {
			r.SetIdentifier, r.MultiValueAnswer = aws.String("x"), aws.Bool(true)
		})), "multivalue answer"},
		"two PRIMARY":                     {create(with(set("b", "A", "192.0.2.1"), func(r *types.ResourceRecordSet) { r.SetIdentifier, r.Failover = aws.String("x"), "PRIMARY" }), with(set("b", "A", "192.0.2.2"), func(r *types.ResourceRecordSet) { r.SetIdentifier, r.Failover = aws.String("y"), "PRIMARY" })), "another PRIMARY"},
		"one of two is refused":           {create(set("fine", "A", "192.0.2.1"), set("a", "A", "192.0.2.9")), "already exists"},
		"more than 1000 records":          {changes("UPSERT", set("m1", "A", many[:300]...), set("m2", "A", many[:201]...)), "Number of records limit of 1000 exceeded"},
		"more than 32000 characters":      {create(longTexts(33)...), "limit of 32000 exceeded"},
		"UPSERT counts characters double": {changes("UPSERT", longTexts(17)...), "limit of 32000 exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			server, c := newServer()
			must(t, c, create(there...)...)
			before := len(server.Sets("Z1"))
			code, message := send(t, c, test.batch...)
			if code != "InvalidChangeBatch" || !strings.Contains(message, test.want) {
				t.Errorf("%s %s, want %q", code, message, test.want)
			}
			if after := len(server.Sets("Z1")); after != before || server.Refused() != 1 {
				t.Errorf("%d record sets, had %d", after, before)
			}
		})
	}
}

// longTexts returns record sets of about 1000 characters each.
func longTexts(n int) []*types.ResourceRecordSet {
	var sets []*types.ResourceRecordSet
	text := strings.TrimSpace(strings.Repeat(`"`+strings.Repeat("x", 247)+`" `, 4))
	for i := range n {
		sets = append(sets, set(fmt.Sprintf("t%d", i), "TXT", text))
	}
	return sets
}

// API_ChangeResourceRecordSets: a batch is checked by what it leaves, in whatever order its
// changes are. 1000 records and 32000 characters are allowed.
func TestAcceptedBatches(t *testing.T) {
	_, c := newServer()
	must(t, c, create(set("a", "A", "192.0.2.1"))...)
	must(t, c, append(create(set("a", "CNAME", "x.example.net")), changes("DELETE", set("a", "A", "192.0.2.1"))...)...)
	must(t, c, append(changes("DELETE", set("a", "CNAME", "x.example.net")), create(set("a", "CNAME", "y.example.net"))...)...)
	must(t, c, changes("UPSERT", set("a", "CNAME", "z.example.net"), set("new", "A", "192.0.2.1"))...)
	must(t, c, create(longTexts(31)...)...)
	var sets []*types.ResourceRecordSet
	for i := range 1000 {
		sets = append(sets, set(fmt.Sprintf("n%d", i), "A", "192.0.2.1"))
	}
	must(t, c, create(sets...)...)
}

// DomainNameFormat: answers are in lower case, and have octal escapes.
func TestNames(t *testing.T) {
	server, c := newServer()
	must(t, c, create(set("*", "A", "192.0.2.1"), set("Capital", "A", "192.0.2.1"), set(`a\100b`, "A", "192.0.2.1"))...)
	must(t, c, changes("DELETE", set(`\052`, "A", "192.0.2.1"))...)
	var names []string
	for _, r := range server.Sets("Z1") {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != `a\100b.example.test. capital.example.test.` {
		t.Errorf("names %s", got)
	}
	if got := canonical(`*.A@b.`); got != `\052.a\100b.` {
		t.Errorf("got %s", got)
	}
}

// API_ListResourceRecordSets: pages of at most 300, by labels from the right, from a name, a
// type and an identifier on. The record sets of a name are in one order.
func TestPages(t *testing.T) {
	_, c := newServer()
	for i := range 7 {
		var sets []*types.ResourceRecordSet
		for j := range 100 {
			sets = append(sets, set(fmt.Sprintf("n%d", i*100+j), "A", "192.0.2.1"))
		}
		must(t, c, create(sets...)...)
	}
	in := &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String("Z1"), MaxItems: aws.Int32(1000)}
	var sizes []int
	seen := map[string]bool{}
	for {
		page, err := c.ListResourceRecordSets(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.ResourceRecordSets))
		for _, r := range page.ResourceRecordSets {
			seen[*r.Name+string(r.Type)] = true
		}
		if !page.IsTruncated {
			break
		}
		in.StartRecordName, in.StartRecordType = page.NextRecordName, page.NextRecordType
	}
	if fmt.Sprint(sizes) != "[300 300 102]" || len(seen) != 702 {
		t.Errorf("pages of %v, %d record sets", sizes, len(seen))
	}
	_, err := c.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String("Z1"), StartRecordType: "A"})
	if code, _ := codeOf(t, err); code != "InvalidInput" {
		t.Errorf("a type without a name: %v", err)
	}
	_, err = c.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String("Z9")})
	if code, _ := codeOf(t, err); code != "NoSuchHostedZone" {
		t.Errorf("an unknown zone: %v", err)
	}
}

// API_ListHostedZones: pages of 100. API_ListTagsForResources: at most ten zones at once.
func TestZones(t *testing.T) {
	server := New()
	for i := range 150 {
		server.AddZone(Zone{ID: fmt.Sprintf("Z%d", i), Name: fmt.Sprintf("z%d.test", i), Private: i%2 == 1, Tags: map[string]string{"n": fmt.Sprint(i)}})
	}
	c := client(server, awstest.AccessKeyID, awstest.SecretAccessKey)
	first, err := c.ListHostedZones(t.Context(), &route53.ListHostedZonesInput{})
	if err != nil || len(first.HostedZones) != 100 || !first.IsTruncated || !first.HostedZones[1].Config.PrivateZone {
		t.Fatalf("%v, %v", first, err)
	}
	second, err := c.ListHostedZones(t.Context(), &route53.ListHostedZonesInput{Marker: first.NextMarker})
	if err != nil || len(second.HostedZones) != 50 || second.IsTruncated || *second.HostedZones[0].Id != "/hostedzone/Z100" {
		t.Fatalf("%v, %v", second, err)
	}
	ids := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("Z%d", i))
		}
		return list
	}
	tags, err := c.ListTagsForResources(t.Context(), &route53.ListTagsForResourcesInput{ResourceType: "hostedzone", ResourceIds: ids(10)})
	if err != nil || len(tags.ResourceTagSets) != 10 || *tags.ResourceTagSets[7].Tags[0].Value != "7" {
		t.Errorf("%v, %v", tags, err)
	}
	_, err = c.ListTagsForResources(t.Context(), &route53.ListTagsForResourcesInput{ResourceType: "hostedzone", ResourceIds: ids(11)})
	if code, _ := codeOf(t, err); code != "InvalidInput" {
		t.Errorf("eleven zones: %v", err)
	}
}

// CommonErrors: signatures and rights. DNSLimitations: five requests a second. API_GetChange: a
// change is PENDING before it is INSYNC.
func TestAccess(t *testing.T) {
	server, c := newServer()
	list := func(c *route53.Client) string {
		_, err := c.ListHostedZones(t.Context(), &route53.ListHostedZonesInput{})
		code, _ := codeOf(t, err)
		return code
	}
	if code := list(client(server, "AKIAOTHER", awstest.SecretAccessKey)); code != "InvalidClientTokenId" {
		t.Errorf("another key: %s", code)
	}
	if code := list(client(server, awstest.AccessKeyID, "other")); code != "SignatureDoesNotMatch" {
		t.Errorf("another secret: %s", code)
	}
	server.Deny("ListHostedZones", "")
	if code := list(c); code != "AccessDenied" {
		t.Errorf("without the right: %s", code)
	}
	server.Permit("ListHostedZones", "")
	if code := list(c); code != "" {
		t.Errorf("with the right: %s", code)
	}
	server.Deny("ChangeResourceRecordSets", "Z1")
	if code, message := send(t, c, create(set("a", "A", "192.0.2.1"))...); code != "AccessDenied" || !strings.Contains(message, "route53:ChangeResourceRecordSets on resource: arn:aws:route53:::hostedzone/Z1") {
		t.Errorf("%s %s", code, message)
	}
}

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newServer()
		server.SetRate(5)
		throttled := 0
		for range 8 {
			if _, err := c.ListHostedZones(t.Context(), &route53.ListHostedZonesInput{}); err != nil {
				if code, _ := codeOf(t, err); code != "Throttling" {
					t.Errorf("%v", err)
				}
				throttled++
			}
		}
		if throttled != 3 {
			t.Errorf("%d of 8 requests were throttled, want 3", throttled)
		}
		server.SetRate(0)
		server.SetLag(3 * time.Second)
		server.SetPropagation(30 * time.Second)
		answer, err := c.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
			HostedZoneId: aws.String("Z1"), ChangeBatch: &types.ChangeBatch{Changes: create(set("a", "A", "192.0.2.1"))},
		})
		if err != nil || answer.ChangeInfo.Status != types.ChangeStatusPending {
			t.Fatalf("%v, %v", answer, err)
		}
		for _, step := range []struct {
			after  time.Duration
			sets   int
			status types.ChangeStatus
		}{{2 * time.Second, 2, "PENDING"}, {2 * time.Second, 3, "PENDING"}, {27 * time.Second, 3, "INSYNC"}} {
			time.Sleep(step.after)
			page, err := c.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String("Z1")})
			if err != nil || len(page.ResourceRecordSets) != step.sets {
				t.Errorf("%v, %v, want %d", page, err, step.sets)
			}
			change, err := c.GetChange(t.Context(), &route53.GetChangeInput{Id: answer.ChangeInfo.Id})
			if err != nil || change.ChangeInfo.Status != step.status {
				t.Errorf("%v, %v, want %s", change, err, step.status)
			}
		}
	})
}

// Hooks have a request fail before or after its effect, or cut its connection.
func TestHooks(t *testing.T) {
	for _, after := range []bool{false, true} {
		server, c := newServer()
		fault := Failed
		hook := func(call Call) *Fault {
			if call.Operation != "ChangeResourceRecordSets" || call.Zone != "Z1" || len(call.Changes) != 1 {
				t.Errorf("call %v", call)
			}
			return fault
		}
		if after {
			server.SetHooks(Hooks{After: hook})
		} else {
			server.SetHooks(Hooks{Before: hook})
		}
		if code, _ := send(t, c, create(set("a", "A", "192.0.2.1"))...); code != "InternalFailure" {
			t.Errorf("got %s", code)
		}
		fault = Lost
		_, err := c.ChangeResourceRecordSets(context.Background(), &route53.ChangeResourceRecordSetsInput{
			HostedZoneId: aws.String("Z1"), ChangeBatch: &types.ChangeBatch{Changes: create(set("b", "A", "192.0.2.1"))},
		})
		if !errors.Is(err, handlertransport.ErrCut) {
			t.Errorf("got %v", err)
		}
		if made := len(server.Sets("Z1")); made != map[bool]int{false: 0, true: 2}[after] {
			t.Errorf("after %t: %d record sets", after, made)
		}
	}
}

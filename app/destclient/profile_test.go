package destclient

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

const (
	ofService = `fully_qualified_name: "web.emoji.svc.cluster.local"
		retry_budget { retry_ratio: 0.2 min_retries_per_second: 10 ttl { seconds: 10 } }
		parent_ref { resource { group: "core" kind: "Service" name: "web" namespace: "emoji" port: 80 } }`
	defaultProfile = ofService + ` profile_ref { resource { group: "linkerd.io" } }`
	getCart        = `routes { metrics_labels { key: "route" value: "GET /cart" } is_retryable: true timeout { nanos: 300000000 }
		condition { all { matches { method { registered: GET } } matches { path { regex: "/cart/[^/]*" } } } } }`
	slowCart = `routes { metrics_labels { key: "route" value: "GET /cart" } timeout { seconds: 2 }
		condition { all { matches { method { registered: GET } } matches { path { regex: "/cart/[^/]*" } } } } }`
	postCheckout = `routes { metrics_labels { key: "route" value: "POST /checkout" }
		condition { all { matches { method { registered: POST } } matches { not { any { matches { path { regex: "/a b" } } matches { path { regex: "/x" } } } } } } }
		response_classes { is_failure: true condition { all { matches { status { min: 500 max: 599 } } matches { not { status { min: 503 max: 503 } } } } } }
		response_classes { condition { status { min: 200 } } } }`
	profileRef = `profile_ref { resource { group: "linkerd.io" name: "web.emoji.svc.cluster.local" namespace: "emoji" } }`
	opaque     = `opaque_protocol: true `
	split      = `dst_overrides { authority: "web-new.emoji.svc.cluster.local:80" weight: 5000 }
		dst_overrides { authority: "web.emoji.svc.cluster.local:80" weight: 10000 }`
	endpointPod = `endpoint { addr { ip { ipv4: 167837698 } port: 8080 } weight: 10000
		metric_labels { key: "pod" value: "web-6d9f7c5b4d-x2x7k" }
		tls_identity { dns_like_identity { name: "web.emoji.serviceaccount.identity.linkerd.cluster.local" } }
		protocol_hint { h2 {} } }`
	endpointBare = `endpoint { addr { ip { ipv4: 167837698 } port: 8080 } weight: 10000 }`
	endpointIPv6 = `endpoint { addr { ip { ipv6 { first: 18230571291595767808 last: 4 } } port: 8080 } weight: 10000 }`
)

func profiles(t *testing.T, texts ...string) []*pb.DestinationProfile {
	t.Helper()
	return messages[pb.DestinationProfile](t, texts)
}

func TestProfileOnce(t *testing.T) {
	// Nothing of a second profile may be shown.
	tests := map[string]onceTest{
		"default":   {script: script{profiles: profiles(t, defaultProfile, opaque)}},
		"full":      {script: script{profiles: profiles(t, ofService+profileRef+getCart+postCheckout+opaque+split)}},
		"endpoint":  {script: script{profiles: profiles(t, endpointPod+opaque), holds: true}},
		"empty":     {script: script{profiles: profiles(t, "")}},
		"json":      {script: script{profiles: profiles(t, endpointIPv6, opaque)}, output: "json"},
		"json-full": {script: script{profiles: profiles(t, defaultProfile+getCart)}, output: "json"},
		"ended":     {err: "profile web.emoji.svc.cluster.local:80 from SERVER: the server ended the stream"},
		"not-found": {script: script{end: status.Error(codes.NotFound, "service web.emoji not found")}, err: "profile web.emoji.svc.cluster.local:80 from SERVER: NotFound: service web.emoji not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.run(t, "profile/"+name+".txt", question{profile: true})
		})
	}
}

func TestProfileWatch(t *testing.T) {
	goingAway := status.Error(codes.Unavailable, "going away")
	service := profiles(t, defaultProfile, ofService+profileRef+getCart, ofService+profileRef+postCheckout+slowCart+opaque,
		ofService+profileRef+slowCart+postCheckout+opaque, defaultProfile+split, "", defaultProfile)
	tests := map[string]watchTest{
		"watch": {scripts: []script{{profiles: service, holds: true}}, text: "~ no longer empty"},
		"watch-endpoint": {
			scripts: []script{{profiles: profiles(t, endpointBare, endpointPod, endpointPod+opaque, endpointIPv6), holds: true}},
			text:    "+ endpoint [fd00::4]",
		},
		"watch-json": {scripts: []script{{profiles: service[:3], holds: true}}, output: "json", text: "POST /checkout"},
		"watch-reconnects": {
			scripts: []script{{profiles: service[:2], end: goingAway}, {profiles: service[1:2]}, {profiles: service[2:3], holds: true}},
			text:    "POST /checkout",
		},
		"watch-gives-up": {
			scripts: []script{{profiles: service[:1], end: status.Error(codes.InvalidArgument, "no such name")}},
			err:     "profile web.emoji.svc.cluster.local:80 from SERVER: InvalidArgument: no such name",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.run(t, "profile/"+name+".txt", question{profile: true})
		})
	}
}

func TestProfileReportsOutputErrors(t *testing.T) {
	checkOutputErrors(t, "profile", question{profile: true}, script{profiles: profiles(t, defaultProfile), holds: true})
}

func TestProfileTimesOut(t *testing.T) {
	s := &scripted{scripts: []script{{holds: true}}}
	q := question{Options: Options{Timeout: 20 * time.Millisecond}, out: io.Discard, profile: true}
	_, err := q.ask(t.Context(), t, s.serve(t))
	if want := "no response within 20ms"; !strings.Contains(messageOf(err), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestConditions(t *testing.T) {
	request := map[string]string{
		``:                                    "(empty)",
		`all {}`:                              "(nothing joined by &)",
		`not {}`:                              "!(empty)",
		`path { regex: "" }`:                  `~""`,
		`path { regex: "/a b" }`:              `~"/a b"`,
		`path { regex: "/a\tb" }`:             `~"/a\tb"`,
		`method { unregistered: "PROPFIND" }`: "PROPFIND",
		`all { matches { any { matches { method { registered: PUT } } } } }`:                                                                                                               "PUT",
		`not { any { matches { all { matches { path { regex: "/a" } } matches { path { regex: "/b" } } } } } }`:                                                                            "!(~/a & ~/b)",
		`any { matches { not { method { registered: GET } } } matches { all { matches { path { regex: "/a" } } matches { path { regex: "/b" } } } } matches { path { regex: "(c|d)" } } }`: "!GET | (~/a & ~/b) | ~(c|d)",
	}
	for text, want := range request {
		m := new(pb.RequestMatch)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		if got := requestCondition(m, false); got != want {
			t.Errorf("request condition %s is written as %s, want %s", text, got, want)
		}
	}
	response := map[string]string{
		``:                                  "(empty)",
		`status {}`:                         "any status",
		`status { min: 500 }`:               ">=500",
		`status { max: 499 }`:               "<=499",
		`status { min: 503 max: 503 }`:      "503",
		`not { status { min: 1 max: 20 } }`: "!1-20",
		`any { matches { status { min: 500 max: 599 } } matches { status { min: 429 max: 429 } } }`: "500-599 | 429",
	}
	for text, want := range response {
		m := new(pb.ResponseMatch)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		if got := responseCondition(m, false); got != want {
			t.Errorf("response condition %s is written as %s, want %s", text, got, want)
		}
	}
}

// The golden files have no odd references and budgets, and no name twice.
func TestProfileOddities(t *testing.T) {
	odd := profiles(t, `fully_qualified_name: "a\nb" retry_budget { min_retries_per_second: 1 }
		parent_ref { default: "x" } profile_ref { resource { name: "y" section: "s" } } routes {} routes { timeout { seconds: 1 nanos: -1 } }`)[0]
	text := newProfileText(odd)
	const want = `name          "a\nb"
parent        default x
profile       y section s
opaque        no
retry budget  ratio 0, at least 1/s, ttl -
routes
  ROUTE  CONDITION  TIMEOUT  RETRYABLE  RESPONSES
  -      (empty)    -        no         -
  -      (empty)    invalid  no         -
`
	if got := text.render(""); got != want {
		t.Errorf("rendered as\n%s, want\n%s", got, want)
	}
	odd.Routes = odd.Routes[1:]
	if got, want := strings.Join(profileChanges(text, newProfileText(odd)), "; "), "- route -; ~ route -: timeout - -> invalid"; got != want {
		t.Errorf("changes are %q, want %q", got, want)
	}
	out := new(bytes.Buffer)
	p := &profilePrinter{out: out, now: time.Now, watch: true}
	hidden := profiles(t, `endpoint { metric_labels { key: "a" value: "b" } }`, `endpoint { metric_labels { key: "a" value: "c" } }`)
	for _, m := range hidden {
		if err := p.message(m); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(out.String(), "see -o json") {
		t.Errorf("a change that isn't shown gave\n%s", out)
	}
}

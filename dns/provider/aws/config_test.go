package aws

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/awstest"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

func TestOpenErrors(t *testing.T) {
	start(t)
	for _, test := range [][2]string{
		{"--aws-zone-type=secret", "--aws-zone-type"},
		{"--aws-batch-change-size=0", "--aws-batch-change-size 0"},
		{"--aws-batch-change-size-bytes=-1", "--aws-batch-change-size-bytes"},
		{"--aws-batch-change-size-values=0", "--aws-batch-change-size-values"},
		{"--aws-batch-change-interval=-1s", "--aws-batch-change-interval"},
		{"--aws-api-retries=0", "--aws-api-retries"},
		{"--aws-profile=missing", "missing"},
	} {
		if _, err := configure(t, test[0]).Open(t.Context(), input()); err == nil || !strings.Contains(err.Error(), test[1]) {
			t.Errorf("%s: %v", test[0], err)
		}
	}
}

// Each profile has its own credentials. A zone that two of them have is one zone, and a profile
// that may not list keeps the others from nothing.
func TestProfiles(t *testing.T) {
	start(t)
	server := route53test.New()
	server.AddZone(route53test.Zone{ID: "Z1", Name: zoneName})
	file := filepath.Join(t.TempDir(), "credentials")
	text := fmt.Sprintf("[one]\naws_access_key_id=%s\naws_secret_access_key=%s\n[two]\naws_access_key_id=%[1]s\naws_secret_access_key=%[2]s\n[other]\naws_access_key_id=AKIAOTHER\naws_secret_access_key=x\n",
		awstest.AccessKeyID, awstest.SecretAccessKey)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	var log bytes.Buffer
	in := input()
	in.Wrap, in.Log = providertest.Through(server.Transport()), slog.New(slog.NewTextHandler(&log, nil))
	p := open(t, in, "--aws-profile=one", "--aws-profile=other", "--aws-profile=two")
	zones, err := p.Zones(t.Context())
	if err != nil || len(zones) != 1 || !strings.Contains(log.String(), "the profile other") {
		t.Errorf("zones %v, %v, log %s", zones, err, log.String())
	}
	// The publisher is told that there may be more zones (clouds F4).
	if err := p.Unlisted(); !errors.Is(err, provider.ErrCredentials) || !strings.Contains(err.Error(), "the profile other") {
		t.Errorf("unlisted: %v", err)
	}
	if _, err := open(t, in, "--aws-profile=other").Zones(t.Context()); !errors.Is(err, provider.ErrCredentials) {
		t.Errorf("a profile without rights: %v", err)
	}
}

// If an account can't be listed, its zones stay as they are known, also those that aren't managed:
// their names don't go to a zone above, of another account.
func TestZonesOfFailingAccount(t *testing.T) {
	start(t)
	above, below := route53test.New(), route53test.New()
	above.AddZone(route53test.Zone{ID: "Z1", Name: zoneName})
	below.AddZone(route53test.Zone{ID: "Z2", Name: "sub." + zoneName})
	below.AddZone(route53test.Zone{ID: "Z3", Name: "own." + zoneName})
	openAt := func(server *route53test.Server) *route53Provider {
		in := input()
		in.Wrap, in.ZoneIDs = providertest.Through(server.Transport()), []string{"Z1", "Z3"}
		return open(t, in)
	}
	p := openAt(above)
	p.accounts = append(p.accounts, openAt(below).accounts...)
	for _, fault := range []*route53test.Fault{nil, {Status: 403, Code: "AccessDenied"}} {
		below.SetHooks(route53test.Hooks{Before: func(route53test.Call) *route53test.Fault { return fault }})
		zones, err := p.Zones(t.Context())
		if err != nil || len(zones) != 2 || (p.Unlisted() == nil) != (fault == nil) {
			t.Fatalf("zones %v, %v, unlisted %v", zones, err, p.Unlisted())
		}
		filter := p.DomainFilter(t.Context())
		for name, want := range map[string]bool{"a." + zoneName: true, "a.own." + zoneName: true, "a.sub." + zoneName: false} {
			if filter.Match(name) != want {
				t.Errorf("fault %v: the filter passes %s: %t", fault, name, !want)
			}
		}
		err = p.Apply(t.Context(), zones[1], []dns.Change{{New: &dns.RecordSet{Name: "a.sub." + zoneName, Type: "A", Targets: []string{"192.0.2.1"}}}})
		if each, ok := errors.AsType[*provider.ApplyError](err); zones[1].Name != zoneName || !ok || !errors.Is(each.Errs[0], provider.ErrRejected) {
			t.Errorf("fault %v: a name of the zone below was written to %s: %v", fault, zones[1].Name, err)
		}
	}
}

// The class of each answer (spec/clouds.md §1.8), and that no token is repeated.
func TestClasses(t *testing.T) {
	for code, want := range map[string]error{
		"Throttling": provider.ErrThrottled, "ThrottlingException": provider.ErrThrottled, "PriorRequestNotComplete": provider.ErrThrottled, "AccessDenied": provider.ErrCredentials,
		"InvalidClientTokenId": provider.ErrCredentials, "SignatureDoesNotMatch": provider.ErrCredentials, "ExpiredToken": provider.ErrCredentials, "InvalidInput": provider.ErrRejected,
		"NoSuchHostedZone": provider.ErrStale, "InternalFailure": nil,
	} {
		withFixture(t, func(w *fixture) {
			p := w.open()
			zones, err := p.Zones(w.T.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.server.SetHooks(route53test.Hooks{Before: func(c route53test.Call) *route53test.Fault {
				if c.Operation != writes {
					return nil
				}
				status := 400
				if want == nil {
					status = 500
				}
				return &route53test.Fault{Status: status, Code: code, Message: "x-amz-security-token:the-token"}
			}})
			err = p.Apply(w.T.Context(), zones[0], []dns.Change{{New: set("a.shop.test", "A", "192.0.2.1")}})
			if err == nil || want != nil && !errors.Is(err, want) || want == nil && provider.NothingMade(err) {
				t.Errorf("%s: %v, want %v", code, err, want)
			}
			if errors.Is(err, provider.ErrCredentials) && code != "AccessDenied" && strings.Contains(err.Error(), "the-token") {
				t.Errorf("%s: the error repeats the token: %v", code, err)
			}
		})
	}
}

package crd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner/claims"
)

// DefaultRefresh is the default of [Options].Refresh. It is shorter than the usual interval of listings.
const DefaultRefresh = 30 * time.Second

// Options configures an [Owner].
type Options struct {
	// Config is the connection to the API server, whose rate limit doesn't apply. HTTPClient has the
	// connections; if it is nil, they are opened according to Config.
	Config     *rest.Config
	HTTPClient *http.Client
	// Namespace is the namespace of the objects; empty means "default".
	Namespace string
	// ID is the owner ID. Record sets of OldOwner, which may be empty, may become ours. Both must be
	// valid label values.
	ID, OldOwner string
	// ByTarget is true if the provider writes by target.
	ByTarget bool
	// Refresh is the age at which the objects are read again, in case somebody edits them. Zero means
	// [DefaultRefresh].
	Refresh time.Duration
	// Problems is called with the reasons why record sets aren't changed. It must not block. It may be
	// nil.
	Problems func(dns.Problem)
	Log      *slog.Logger
}

// New returns an owner without claims. Load reads them.
func New(o Options) (*claims.Owner, error) {
	for flag, value := range map[string]string{"--txt-owner-id": o.ID, "--migrate-from-txt-owner": o.OldOwner} {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return nil, fmt.Errorf("%s %q: --registry=crd keeps it as the value of a label, for which it is not valid: %s", flag, value, strings.Join(problems, "; "))
		}
	}
	if o.ID == "" {
		return nil, errors.New("--txt-owner-id is empty: give an owner ID, which --registry=crd needs")
	}
	o.Namespace = cmp.Or(o.Namespace, "default")
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, err := newClient(o.Config, o.HTTPClient, o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("make a client for DNSRecords: %w", err)
	}
	s := &store{
		client: c, owners: []string{o.ID}, namespace: o.Namespace, log: o.Log, now: time.Now, refresh: cmp.Or(o.Refresh, DefaultRefresh),
		live: map[dns.Key]*externaldns.DNSRecord{}, problems: map[string]string{},
	}
	if o.OldOwner != "" && o.OldOwner != o.ID {
		s.owners = append(s.owners, o.OldOwner)
	}
	return claims.New(claims.Options{Store: s, ID: o.ID, OldID: o.OldOwner, ByTarget: o.ByTarget, Problems: o.Problems, Log: o.Log}), nil
}

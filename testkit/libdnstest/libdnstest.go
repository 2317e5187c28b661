// Package libdnstest is a libdns module with its zones in memory, for the tests of the provider libdns. It
// keeps the promises of libdns, or breaks some of them, as real modules do. Several clients, as New returns
// them, may share the zones of one [Service].
//
// # Concurrency
//
// A Service may be used from any goroutine.
package libdnstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

// Faults are broken promises of libdns.
type Faults struct {
	// MinTTL is the smallest TTL that is stored; smaller ones are raised.
	MinTTL time.Duration
	// LowerCase stores names and texts in lower case.
	LowerCase bool
	// Merges turns values that are appended together into one record.
	Merges bool
	// IgnoresTTL deletes records whatever their TTL.
	IgnoresTTL bool
	// Atomic returns each error as an AtomicErr, although something may have changed.
	Atomic bool
	// Silent makes AppendRecords skip what it can't do, without an error.
	Silent bool
	// HidesTTL lists records without their TTL.
	HidesTTL bool
}

// Call is one call of a module.
type Call struct {
	// Method is the name of the method, and Zone its zone.
	Method, Zone string
	Records      []lib.RR
}

// Writes reports whether the call may change something.
func (c Call) Writes() bool { return c.Method != "GetRecords" && c.Method != "ListZones" }

// Service is the state that the clients of a module share.
type Service struct {
	// Faults are the broken promises. Change them between calls only.
	Faults Faults
	// Token is the required value of the clients' setting "token".
	Token string
	// Fail is called before each written record, and before each listing (with an empty record); its error
	// becomes that of the call. After is called after each written record. Nil means no error.
	Fail, After func(method string, rr lib.RR) error
	// Delay is how long each call takes.
	Delay time.Duration
	// Lag is how long listings show the previous state.
	Lag time.Duration

	// mu guards zones and calls. It isn't held while Fail and After are called.
	mu    sync.Mutex
	zones map[string][]stored
	calls []Call
}

// stored is a record with the time in which it existed.
type stored struct {
	rr         lib.RR
	from, till time.Time
}

// NewService returns a service with zones.
func NewService(zones ...string) *Service {
	s := &Service{Token: "secret-token", zones: map[string][]stored{}}
	for _, z := range zones {
		s.AddZone(z)
	}
	return s
}

// AddZone adds an empty zone.
func (s *Service) AddZone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones[dns.Canonical(name)] = nil
}

// Module returns a module of the service that lists its zones.
func (s *Service) Module(setting module.Replacing) module.Module {
	return module.Module{
		Name: "memory", New: func() module.Client { return &Lister{Client{service: s, setting: setting}} }, Required: []string{"token"},
		Types:     []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS, dns.TypePTR, dns.TypeNAPTR, dns.TypeDNAME},
		Replacing: setting,
	}
}

// WithoutListing returns a module of the service that can't list zones.
func (s *Service) WithoutListing(setting module.Replacing) module.Module {
	m := s.Module(setting)
	m.New = func() module.Client { return &Client{service: s, setting: setting} }
	return m
}

// Calls returns the calls since the last call of Calls.
func (s *Service) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Records returns the present records of a zone, as "name type ttl data".
func (s *Service) Records(zone string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, r := range s.zones[dns.Canonical(zone)] {
		if r.till.IsZero() {
			lines = append(lines, fmt.Sprintf("%s %s %d %s", r.rr.Name, r.rr.Type, int(r.rr.TTL.Seconds()), r.rr.Data))
		}
	}
	slices.Sort(lines)
	return lines
}

// Peek returns the present records of a zone.
func (s *Service) Peek(zone string) []lib.RR {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []lib.RR
	for _, r := range s.zones[zone] {
		if r.till.IsZero() {
			list = append(list, r.rr)
		}
	}
	return list
}

// Put adds a record to a zone as another writer would.
func (s *Service) Put(zone string, rr lib.RR) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones[zone] = append(s.zones[zone], stored{rr: rr})
}

// Remove removes the records for which the function returns true, as another writer would.
func (s *Service) Remove(zone string, which func(lib.RR) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(zone, which)
}

func (s *Service) end(zone string, which func(lib.RR) bool) {
	for i, r := range s.zones[zone] {
		if r.till.IsZero() && which(r.rr) {
			s.zones[zone][i].till = time.Now()
		}
	}
}

// Client is a client that can't list zones.
type Client struct {
	// Token is a setting.
	Token string `json:"token"`
	// Size is another setting.
	Size int `json:"size,omitempty"`

	service *Service
	setting module.Replacing
}

// Lister is a client that lists zones.
type Lister struct{ Client }

// ListZones implements [lib.ZoneLister].
func (l *Lister) ListZones(ctx context.Context) ([]lib.Zone, error) {
	end, err := l.begin(ctx, "ListZones", "", nil)
	defer end()
	if err != nil {
		return nil, err
	}
	var zones []lib.Zone
	for name := range l.service.zones {
		zones = append(zones, lib.Zone{Name: name + "."})
	}
	return zones, nil
}

// begin records a call and locks the service.
func (c *Client) begin(ctx context.Context, method, zone string, records []lib.Record) (end func(), err error) {
	s := c.service
	time.Sleep(s.Delay)
	s.mu.Lock()
	call := Call{Method: method, Zone: zone}
	for _, r := range records {
		call.Records = append(call.Records, r.RR())
	}
	s.calls = append(s.calls, call)
	if err := ctx.Err(); err != nil {
		return s.mu.Unlock, err
	}
	if c.Token != s.Token {
		return s.mu.Unlock, errors.New("status 401: the token " + c.Token + " is unknown")
	}
	if _, ok := s.zones[bare(zone)]; zone != "" && !ok {
		return s.mu.Unlock, fmt.Errorf("no zone %s", zone)
	}
	if zone != "" && !strings.HasSuffix(zone, ".") {
		return s.mu.Unlock, fmt.Errorf("zone %s has no dot at its end", zone)
	}
	return s.mu.Unlock, nil
}

func bare(zone string) string { return strings.TrimSuffix(zone, ".") }

// GetRecords implements [lib.RecordGetter].
func (c *Client) GetRecords(ctx context.Context, zone string) ([]lib.Record, error) {
	end, err := c.begin(ctx, "GetRecords", zone, nil)
	defer end()
	if err != nil {
		return nil, err
	}
	s := c.service
	if err := s.ask(s.Fail, "GetRecords", lib.RR{}); err != nil {
		return nil, err
	}
	var list []lib.Record
	seen := time.Now().Add(-s.Lag)
	for _, r := range s.zones[bare(zone)] {
		if r.from.After(seen) || !r.till.IsZero() && !r.till.After(seen) {
			continue
		}
		rr := r.rr
		if s.Faults.HidesTTL {
			rr.TTL = 0
		}
		parsed, err := rr.Parse()
		if err != nil {
			return nil, err
		}
		list = append(list, parsed)
	}
	return list, nil
}

func (s *Service) ask(f func(string, lib.RR) error, method string, rr lib.RR) error {
	if f == nil {
		return nil
	}
	// The callback may use the service.
	s.mu.Unlock()
	err := f(method, rr)
	s.mu.Lock()
	if err != nil && s.Faults.Atomic {
		return lib.AtomicErr(err)
	}
	return err
}

// AppendRecords implements [lib.RecordAppender]: one record after the other.
func (c *Client) AppendRecords(ctx context.Context, zone string, records []lib.Record) ([]lib.Record, error) {
	end, err := c.begin(ctx, "AppendRecords", zone, records)
	defer end()
	if err != nil {
		return nil, err
	}
	return c.add("AppendRecords", bare(zone), records)
}

// add appends records.
func (c *Client) add(method, zone string, records []lib.Record) ([]lib.Record, error) {
	s := c.service
	var added []lib.Record
	for _, record := range s.altered(records) {
		err := s.ask(s.Fail, method, record)
		if err == nil {
			err = s.insert(zone, record)
		}
		if err != nil && s.Faults.Silent {
			continue
		}
		if err != nil {
			return added, err
		}
		if err := s.ask(s.After, method, record); err != nil {
			return added, err
		}
		added = append(added, record)
	}
	return added, nil
}

// altered returns records as the service stores them.
func (s *Service) altered(records []lib.Record) []lib.RR {
	var list []lib.RR
	for _, r := range records {
		rr := r.RR()
		rr.TTL = max(rr.TTL, s.Faults.MinTTL)
		if s.Faults.LowerCase {
			rr.Name, rr.Data = strings.ToLower(rr.Name), strings.ToLower(rr.Data)
		}
		if last := len(list) - 1; s.Faults.Merges && rr.Type == dns.TypeTXT && last >= 0 && list[last].Name == rr.Name && list[last].Type == rr.Type {
			list[last].Data += " " + rr.Data
			continue
		}
		list = append(list, rr)
	}
	return list
}

// insert adds a record, if the zone allows it.
func (s *Service) insert(zone string, rr lib.RR) error {
	for _, other := range s.zones[zone] {
		if !other.till.IsZero() || other.rr.Name != rr.Name {
			continue
		}
		switch {
		case other.rr.Type == rr.Type && other.rr.Data == rr.Data:
			return fmt.Errorf("%s %s exists", rr.Name, rr.Type)
		case rr.Type == dns.TypeCNAME || other.rr.Type == dns.TypeCNAME:
			return fmt.Errorf("%s %s: a CNAME can't be beside %s", rr.Name, rr.Type, other.rr.Type)
		}
	}
	s.zones[zone] = append(s.zones[zone], stored{rr: rr, from: time.Now()})
	return nil
}

// SetRecords implements [lib.RecordSetter], as far as the module supports it.
func (c *Client) SetRecords(ctx context.Context, zone string, records []lib.Record) ([]lib.Record, error) {
	end, err := c.begin(ctx, "SetRecords", zone, records)
	defer end()
	if err != nil {
		return nil, err
	}
	s := c.service
	if c.setting == module.NotReplacing {
		return nil, errors.New("this module can't set records")
	}
	if c.setting == module.ReplacingAtOnce {
		for _, r := range records {
			if err := s.ask(s.Fail, "SetRecords", r.RR()); err != nil {
				return nil, err
			}
		}
	}
	s.end(bare(zone), func(rr lib.RR) bool {
		return slices.ContainsFunc(records, func(r lib.Record) bool { return r.RR().Name == rr.Name && r.RR().Type == rr.Type })
	})
	if c.setting == module.ReplacingAtOnce {
		for _, rr := range s.altered(records) {
			if err := s.insert(bare(zone), rr); err != nil {
				return nil, err
			}
		}
		return records, s.ask(s.After, "SetRecords", lib.RR{})
	}
	return c.add("SetRecords", bare(zone), records)
}

// DeleteRecords implements [lib.RecordDeleter]. An empty field stands for any.
func (c *Client) DeleteRecords(ctx context.Context, zone string, records []lib.Record) ([]lib.Record, error) {
	end, err := c.begin(ctx, "DeleteRecords", zone, records)
	defer end()
	if err != nil {
		return nil, err
	}
	s := c.service
	var deleted []lib.Record
	for _, r := range records {
		like := r.RR()
		if err := s.ask(s.Fail, "DeleteRecords", like); err != nil {
			return deleted, err
		}
		s.end(bare(zone), func(rr lib.RR) bool {
			return rr.Name == like.Name && (like.Type == "" || rr.Type == like.Type) && (like.Data == "" || rr.Data == like.Data) &&
				(like.TTL == 0 || s.Faults.IgnoresTTL || rr.TTL == like.TTL)
		})
		if err := s.ask(s.After, "DeleteRecords", like); err != nil {
			return deleted, err
		}
		deleted = append(deleted, r)
	}
	return deleted, nil
}

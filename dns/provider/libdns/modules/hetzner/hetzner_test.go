package hetzner_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/modules/hetzner"
	"github.com/signpostd/signpost/testkit/moduletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	moduletest.Run(t, moduletest.Options{
		Module: hetzner.Module(), Settings: `{"api_token": "%s"}`, Serve: serve,
		Without: map[string]string{"random changes": "among its texts are some that end with a quote, which the module loses"},
	})
}

const (
	// pageSize is the most entries of a page (https://docs.hetzner.cloud/#pagination), and minTTL the
	// least TTL.
	pageSize = 50
	minTTL   = 60
)

type rrset struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	TTL     *int64   `json:"ttl"`
	Records []record `json:"records"`
}

type record struct {
	Value string `json:"value"`
}

// server is the part of the API of Hetzner Cloud that is about zones: record sets in pages, to
// which records are added, and from which they are removed.
type server struct{ store *moduletest.Store }

func serve(store *moduletest.Store) http.Handler {
	s := &server{store}
	mux := http.NewServeMux()
	const zone = "api.hetzner.cloud/v1/zones/{zone}"
	mux.HandleFunc("GET api.hetzner.cloud/v1/zones", s.zones)
	mux.HandleFunc("GET "+zone, s.zone)
	mux.HandleFunc("GET "+zone+"/rrsets", s.list)
	mux.HandleFunc("POST "+zone+"/rrsets", s.create)
	mux.HandleFunc("DELETE "+zone+"/rrsets/{name}/{type}", s.delete)
	mux.HandleFunc("POST "+zone+"/rrsets/{name}/{type}/actions/add_records", s.add)
	mux.HandleFunc("POST "+zone+"/rrsets/{name}/{type}/actions/remove_records", s.remove)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+moduletest.Secret {
			fail(w, http.StatusUnauthorized, "unauthorized", "unable to authenticate "+r.Header.Get("Authorization"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

// done answers with an action that is finished.
func done(w http.ResponseWriter, body map[string]any) {
	body["action"] = map[string]any{"id": 1, "command": "change", "status": "success", "progress": 100}
	answer(w, http.StatusCreated, body)
}

// page answers with a page of a list.
func page[T any](w http.ResponseWriter, r *http.Request, name string, list []T) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	number = max(number, 1)
	last := max((len(list)+pageSize-1)/pageSize, 1)
	first := min((number-1)*pageSize, len(list))
	meta := map[string]any{"page": number, "per_page": pageSize, "last_page": last, "total_entries": len(list), "next_page": nil, "previous_page": nil}
	if number < last {
		meta["next_page"] = number + 1
	}
	answer(w, http.StatusOK, map[string]any{name: list[first:min(first+pageSize, len(list))], "meta": map[string]any{"pagination": meta}})
}

func (s *server) zones(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	for i, name := range s.store.Zones() {
		list = append(list, map[string]any{"id": i + 1, "name": name, "ttl": 3600, "mode": "primary"})
	}
	page(w, r, "zones", list)
}

// known answers for a zone that isn't there.
func (s *server) known(w http.ResponseWriter, r *http.Request) (name string, ok bool) {
	name = r.PathValue("zone")
	if id, err := strconv.Atoi(name); err == nil && id > 0 && id <= len(s.store.Zones()) {
		name = s.store.Zones()[id-1]
	}
	if !s.store.Has(name) {
		fail(w, http.StatusNotFound, "not_found", "zone not found")
		return "", false
	}
	return name, true
}

func (s *server) zone(w http.ResponseWriter, r *http.Request) {
	if name, ok := s.known(w, r); ok {
		id := slices.Index(s.store.Zones(), name) + 1
		answer(w, http.StatusOK, map[string]any{"zone": map[string]any{"id": id, "name": name, "ttl": 3600, "mode": "primary"}})
	}
}

// list lists record sets. The path has the ID of a zone, because the module asked for it; the store
// has one zone for each ID.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	zone, ok := s.known(w, r)
	if !ok {
		return
	}
	list, places := []*rrset{}, map[string]int{}
	for _, r := range s.store.List(zone) {
		key := r.Name + "/" + r.Type
		i, known := places[key]
		if !known {
			i, list = len(list), append(list, &rrset{ID: key, Name: r.Name, Type: r.Type, TTL: &r.TTL})
			places[key] = i
		}
		list[i].Records = append(list[i].Records, record{Value: shown(r)})
	}
	page(w, r, "rrsets", list)
}

// shown returns the data of a record as the API has it: texts are strings of up to 255 bytes in
// quotes.
func shown(r moduletest.Record) string {
	if r.Type != dns.TypeTXT {
		return r.Data
	}
	var parts []string
	for _, part := range dns.SplitString(r.Data) {
		parts = append(parts, dns.QuoteString(part))
	}
	return strings.Join(parts, " ")
}

// received reads a request.
func received(w http.ResponseWriter, r *http.Request) (set rrset, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&set); err != nil {
		fail(w, http.StatusBadRequest, "json_error", err.Error())
		return set, false
	}
	if set.TTL != nil && *set.TTL < minTTL {
		fail(w, http.StatusUnprocessableEntity, "invalid_input", fmt.Sprintf("the TTL is less than %d", minTTL))
		return set, false
	}
	return set, true
}

// data returns the data of a record as the store has it.
func data(recordType, value string) (string, error) {
	if recordType != dns.TypeTXT {
		return value, nil
	}
	words, err := dns.Words(value)
	if err != nil || len(words) == 0 {
		return "", fmt.Errorf("%s isn't a list of strings in quotes", value)
	}
	text := ""
	for _, w := range words {
		if !w.Quoted || len(w.Text) > dns.MaxString {
			return "", fmt.Errorf("%s isn't a string in quotes of at most %d bytes", w.Raw, dns.MaxString)
		}
		text += w.Text
	}
	return text, nil
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	zone, ok := s.known(w, r)
	set, readable := received(w, r)
	if !ok || !readable {
		return
	}
	if len(s.store.Set(zone, set.Name, set.Type)) > 0 {
		fail(w, http.StatusUnprocessableEntity, "uniqueness_error", "the RRSet exists")
		return
	}
	s.insert(w, zone, set, nil)
}

// insert replaces a record set by what was there and what is new.
func (s *server) insert(w http.ResponseWriter, zone string, set rrset, there []moduletest.Record) {
	ttl := int64(3600)
	if set.TTL != nil {
		ttl = *set.TTL
	}
	for _, one := range set.Records {
		value, err := data(set.Type, one.Value)
		if err != nil {
			fail(w, http.StatusUnprocessableEntity, "invalid_input", err.Error())
			return
		}
		there = append(there, moduletest.Record{Data: value, TTL: ttl})
	}
	if err := s.store.Replace(zone, []moduletest.Set{{Name: set.Name, Type: set.Type, Records: there}}); err != nil {
		fail(w, http.StatusUnprocessableEntity, "invalid_input", err.Error())
		return
	}
	done(w, map[string]any{"rrset": set})
}

func (s *server) add(w http.ResponseWriter, r *http.Request) {
	zone, ok := s.known(w, r)
	set, readable := received(w, r)
	if !ok || !readable {
		return
	}
	set.Name, set.Type = r.PathValue("name"), r.PathValue("type")
	there := s.store.Set(zone, set.Name, set.Type)
	if len(there) > 0 && set.TTL != nil && *set.TTL != there[0].TTL {
		fail(w, http.StatusConflict, "conflict", "the RRSet has another TTL")
		return
	}
	s.insert(w, zone, set, there)
}

func (s *server) remove(w http.ResponseWriter, r *http.Request) {
	zone, ok := s.known(w, r)
	set, readable := received(w, r)
	if !ok || !readable {
		return
	}
	there := s.store.Set(zone, r.PathValue("name"), r.PathValue("type"))
	for _, one := range set.Records {
		i := -1
		for at, stored := range there {
			if shown(stored) == one.Value {
				i = at
			}
		}
		if i < 0 {
			fail(w, http.StatusNotFound, "not_found", "there is no record "+one.Value)
			return
		}
		s.store.Delete(zone, there[i].ID)
	}
	done(w, map[string]any{})
}

func (s *server) delete(w http.ResponseWriter, r *http.Request) {
	zone, ok := s.known(w, r)
	if !ok {
		return
	}
	there := s.store.Set(zone, r.PathValue("name"), r.PathValue("type"))
	if len(there) == 0 {
		fail(w, http.StatusNotFound, "not_found", "there is no such RRSet")
		return
	}
	for _, one := range there {
		s.store.Delete(zone, one.ID)
	}
	done(w, map[string]any{})
}

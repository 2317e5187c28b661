package desec_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/modules/desec"
	"github.com/signpostd/signpost/testkit/moduletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	moduletest.Run(t, moduletest.Options{
		Module: desec.Module(), Settings: `{"token": "%s"}`, Serve: serve,
		Without: map[string]string{"adjusted one by one": "the check asks for TTLs that are raised to an hour"},
	})
}

// Limits of the API (https://desec.readthedocs.io/en/latest/dns/rrsets.html).
const (
	minTTL, maxTTL = 3600, 86400
	maxSets        = 500
)

// rrset is a record set of the API.
type rrset struct {
	Subname string   `json:"subname"`
	Type    string   `json:"type"`
	Records []string `json:"records"`
	TTL     int64    `json:"ttl"`
}

// server is the API of deSEC: record sets, listed in pages of 500, and replaced together or not at
// all.
type server struct{ store *moduletest.Store }

func serve(store *moduletest.Store) http.Handler {
	s := &server{store}
	mux := http.NewServeMux()
	mux.HandleFunc("GET desec.io/api/v1/domains/{$}", s.domains)
	mux.HandleFunc("GET desec.io/api/v1/domains/{zone}/rrsets/{$}", s.list)
	mux.HandleFunc("PUT desec.io/api/v1/domains/{zone}/rrsets/{$}", s.put)
	mux.HandleFunc("GET desec.io/api/v1/domains/{zone}/rrsets/{name}/{type}", s.get)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Token "+moduletest.Secret {
			answer(w, http.StatusUnauthorized, map[string]string{"detail": "Invalid token: " + r.Header.Get("Authorization")})
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

func (s *server) domains(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]string{}
	for _, name := range s.store.Zones() {
		list = append(list, map[string]string{"name": name})
	}
	answer(w, http.StatusOK, list)
}

// sets returns the record sets of a zone.
func (s *server) sets(zone string) []*rrset {
	list, places := []*rrset{}, map[string]int{}
	for _, r := range s.store.List(zone) {
		key := r.Name + " " + r.Type
		i, known := places[key]
		if !known {
			i, list = len(list), append(list, &rrset{Subname: strings.TrimPrefix(r.Name, "@"), Type: r.Type, TTL: r.TTL})
			places[key] = i
		}
		data := r.Data
		if r.Type == dns.TypeTXT {
			data = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(data) + `"`
		}
		list[i].Records = append(list[i].Records, data)
	}
	return list
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	zone := r.PathValue("zone")
	list := s.sets(zone)
	switch {
	case !s.store.Has(zone):
		answer(w, http.StatusNotFound, map[string]string{"detail": "Not found."})
	case len(list) > maxSets:
		// Without a cursor, the API refuses to answer.
		answer(w, http.StatusBadRequest, map[string]string{"detail": "Pagination required."})
	default:
		answer(w, http.StatusOK, list)
	}
}

func (s *server) get(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.PathValue("name"), "@")
	for _, set := range s.sets(r.PathValue("zone")) {
		if set.Subname == name && set.Type == r.PathValue("type") {
			answer(w, http.StatusOK, set)
			return
		}
	}
	answer(w, http.StatusNotFound, map[string]string{"detail": "Not found."})
}

func (s *server) put(w http.ResponseWriter, r *http.Request) {
	var wanted []rrset
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"detail": err.Error()})
		return
	}
	var sets []moduletest.Set
	for _, set := range wanted {
		made, err := stored(set)
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"detail": err.Error()})
			return
		}
		sets = append(sets, made)
	}
	if err := s.store.Replace(r.PathValue("zone"), sets); err != nil {
		answer(w, http.StatusBadRequest, []map[string][]string{{"non_field_errors": {err.Error()}}})
		return
	}
	answer(w, http.StatusOK, wanted)
}

// stored returns a record set as the store has it.
func stored(set rrset) (moduletest.Set, error) {
	if len(set.Records) > 0 && (set.TTL < minTTL || set.TTL > maxTTL) {
		return moduletest.Set{}, fmt.Errorf("the TTL %d is not from %d to %d", set.TTL, minTTL, maxTTL)
	}
	name := set.Subname
	if name == "" {
		name = "@"
	}
	made := moduletest.Set{Name: name, Type: set.Type}
	for _, data := range set.Records {
		if set.Type == dns.TypeTXT {
			words, err := dns.Words(data)
			if err != nil || len(words) != 1 || !words[0].Quoted {
				return made, fmt.Errorf("the text %s isn't in quotes", data)
			}
			data = words[0].Text
		}
		made.Records = append(made.Records, moduletest.Record{Data: data, TTL: set.TTL})
	}
	return made, nil
}

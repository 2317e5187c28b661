package cloudns_test

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/modules/cloudns"
	"github.com/signpostd/signpost/testkit/moduletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	moduletest.Run(t, moduletest.Options{
		Module: cloudns.Module(), Settings: `{"auth_id": "1", "auth_password": "%s", "operation_retries": 1}`, Serve: serve,
	})
}

// pageSize is the largest page of zones, and ttls are the TTLs that there are
// (https://www.cloudns.net/wiki/article/58/).
const pageSize = 100

var ttls = []string{"60", "300", "900", "1800", "3600", "21600", "43200", "86400", "172800", "259200", "604800", "1209600", "2592000"}

// server is the API of ClouDNS: forms, answered with status 200 whatever happens.
type server struct{ store *moduletest.Store }

func serve(store *moduletest.Store) http.Handler {
	s := &server{store}
	methods := map[string]http.HandlerFunc{
		"list-zones.json": s.zones, "records.json": s.records, "add-record.json": s.add, "mod-record.json": s.modify, "delete-record.json": s.delete,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := methods[path.Base(r.URL.Path)]
		switch {
		case r.URL.Host != "api.cloudns.net" || method == nil:
			w.WriteHeader(http.StatusNotFound)
		case r.PostFormValue("auth-id") != "1" || r.PostFormValue("auth-password") != moduletest.Secret:
			fail(w, "Invalid authentication, incorrect auth-id or auth-password.")
		case !strings.HasPrefix(path.Base(r.URL.Path), "list") && !store.Has(r.PostFormValue("domain-name")):
			fail(w, "Missing domain-name")
		default:
			method(w, r)
		}
	})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, why string) {
	answer(w, map[string]string{"status": "Failed", "statusDescription": why})
}

func succeed(w http.ResponseWriter) {
	answer(w, map[string]string{"status": "Success", "statusDescription": "done"})
}

func (s *server) zones(w http.ResponseWriter, r *http.Request) {
	number, _ := strconv.Atoi(r.PostFormValue("page"))
	names := s.store.Zones()
	first := min((number-1)*pageSize, len(names))
	list := []map[string]string{}
	for _, name := range names[first:min(first+pageSize, len(names))] {
		list = append(list, map[string]string{"name": name, "type": "master"})
	}
	answer(w, list)
}

// records lists a zone; an empty one is an empty list, and another one is an object.
func (s *server) records(w http.ResponseWriter, r *http.Request) {
	records := map[string]map[string]string{}
	for _, stored := range s.store.List(r.PostFormValue("domain-name")) {
		one := map[string]string{"id": strconv.Itoa(stored.ID), "type": stored.Type, "host": strings.TrimPrefix(stored.Name, "@"), "ttl": strconv.FormatInt(stored.TTL, 10)}
		fields := strings.Fields(stored.Data)
		switch stored.Type {
		case dns.TypeMX:
			one["priority"] = fields[0]
		case dns.TypeSRV:
			one["priority"], one["weight"], one["port"] = fields[0], fields[1], fields[2]
		}
		if one["record"] = stored.Data; stored.Type == dns.TypeTXT {
			one["record"] = strings.Join(dns.SplitString(stored.Data), `" "`)
		} else {
			one["record"] = strings.TrimSuffix(fields[len(fields)-1], ".")
		}
		records[one["id"]] = one
	}
	if len(records) == 0 {
		answer(w, []string{})
		return
	}
	answer(w, records)
}

// received returns the record of a form, or answers what is wrong with it.
func received(w http.ResponseWriter, r *http.Request, recordType string) (moduletest.Record, bool) {
	host := r.PostFormValue("host")
	if host == "" {
		host = "@"
	}
	data := r.PostFormValue("record")
	if slices.Contains([]string{dns.TypeCNAME, dns.TypeNS, dns.TypeMX, dns.TypeSRV}, recordType) {
		if strings.HasSuffix(data, ".") {
			fail(w, "The record can't end with a dot.")
			return moduletest.Record{}, false
		}
		data += "."
	}
	switch recordType {
	case dns.TypeMX:
		data = r.PostFormValue("priority") + " " + data
	case dns.TypeSRV:
		data = strings.Join([]string{r.PostFormValue("priority"), r.PostFormValue("weight"), r.PostFormValue("port"), data}, " ")
	}
	if !slices.Contains(ttls, r.PostFormValue("ttl")) {
		fail(w, "Invalid TTL. Choose from the list of the values we support.")
		return moduletest.Record{}, false
	}
	ttl, _ := strconv.ParseInt(r.PostFormValue("ttl"), 10, 64)
	return moduletest.Record{Name: host, Type: recordType, Data: data, TTL: ttl}, true
}

func (s *server) add(w http.ResponseWriter, r *http.Request) {
	one, ok := received(w, r, r.PostFormValue("record-type"))
	if !ok {
		return
	}
	if _, err := s.store.Add(r.PostFormValue("domain-name"), one); err != nil {
		fail(w, err.Error())
		return
	}
	succeed(w)
}

// find returns the record of a form.
func (s *server) find(r *http.Request) (moduletest.Record, bool) {
	id, _ := strconv.Atoi(r.PostFormValue("record-id"))
	all := s.store.List(r.PostFormValue("domain-name"))
	i := slices.IndexFunc(all, func(one moduletest.Record) bool { return one.ID == id })
	if i < 0 {
		return moduletest.Record{}, false
	}
	return all[i], true
}

func (s *server) modify(w http.ResponseWriter, r *http.Request) {
	zone := r.PostFormValue("domain-name")
	old, found := s.find(r)
	if !found {
		fail(w, "Invalid record-id param.")
		return
	}
	one, ok := received(w, r, old.Type)
	if !ok {
		return
	}
	s.store.Delete(zone, old.ID)
	if _, err := s.store.Add(zone, one); err != nil {
		fail(w, err.Error())
		return
	}
	succeed(w)
}

func (s *server) delete(w http.ResponseWriter, r *http.Request) {
	if one, found := s.find(r); !found || !s.store.Delete(r.PostFormValue("domain-name"), one.ID) {
		fail(w, "Invalid record-id param.")
		return
	}
	succeed(w)
}

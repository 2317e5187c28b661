package azuretest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/apitest"
)

// The configuration of the server, and the credentials that it accepts.
const (
	Subscription = "11111111-2222-3333-4444-555555555555"
	Group        = "rg-dns"
	Tenant       = "66666666-7777-8888-9999-000000000000"
	ClientID     = "client"
	ClientSecret = "the-client-secret"
)

// bodyLimit is the largest request body, in bytes.
const bodyLimit = 4 << 20

// The versions of the two APIs (REST reference, record-sets and privatedns).
var (
	publicVersions  = []string{"2016-04-01", "2017-09-01", "2017-10-01", "2018-05-01"}
	privateVersions = []string{"2018-09-01", "2020-01-01", "2020-06-01", "2024-06-01"}
)

// Server is an Azure subscription. It implements [http.Handler].
type Server struct {
	apitest.Control[Call, Fault]

	mu       sync.Mutex
	zones    []*zone
	page     int
	etags    int
	requests int
	tokens   map[string]time.Time
	listings map[string]listing
}

// New returns a server without zones.
func New() *Server {
	return &Server{tokens: map[string]time.Time{}, listings: map[string]listing{}, page: 1000}
}

// request is a parsed request.
type request struct {
	Call
	http *http.Request
	body []byte
	kind kind
	// group is the resource group of the zones.
	group string
}

// answer is a response. A nil body means none.
type answer struct {
	status int
	body   any
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		s.fail(w, &Fault{Status: http.StatusRequestEntityTooLarge, Code: "RequestEntityTooLarge"})
		return
	}
	if perform := s.identity(r, string(body)); perform != nil {
		s.do(w, Call{Operation: "Token"}, perform)
		return
	}
	req, fault := s.route(r, body)
	if fault != nil {
		s.fail(w, fault)
		return
	}
	s.do(w, req.Call, func() (answer, *Fault) {
		if fault := s.admit(req); fault != nil {
			return answer{}, fault
		}
		return s.perform(req)
	})
}

// do calls the hooks, and responds.
func (s *Server) do(w http.ResponseWriter, call Call, perform func() (answer, *Fault)) {
	a, fault := apitest.Do(&s.Control, call, func() *Fault { return nil }, func() (answer, *Fault) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return perform()
	})
	if fault != nil {
		s.fail(w, fault)
		return
	}
	s.write(w, a)
}

// route determines the operation of a request.
func (s *Server) route(r *http.Request, body []byte) (*request, *Fault) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(path) < 7 || !strings.EqualFold(path[0], "subscriptions") || !strings.EqualFold(path[2], "resourceGroups") ||
		!strings.EqualFold(path[4], "providers") || !strings.EqualFold(path[5], "Microsoft.Network") {
		return nil, &Fault{Status: 404, Code: "InvalidResourceType", Message: "The resource type could not be found: " + r.URL.Path}
	}
	req := &request{http: r, body: body, group: path[3], kind: public}
	versions := publicVersions
	switch {
	case strings.EqualFold(path[6], "privateDnsZones"):
		req.kind, versions = private, privateVersions
	case !strings.EqualFold(path[6], "dnsZones"):
		return nil, &Fault{Status: 404, Code: "InvalidResourceType", Message: "The resource type could not be found: " + path[6]}
	}
	switch version := r.URL.Query().Get("api-version"); {
	case version == "":
		return nil, &Fault{Status: 400, Code: "MissingApiVersionParameter", Message: "The api-version query parameter (?api-version=) is required for all requests."}
	case !slices.Contains(versions, version):
		return nil, &Fault{Status: 400, Code: "NoRegisteredProviderFound", Message: "No registered resource provider found for the API version " + version}
	case !strings.EqualFold(path[1], Subscription):
		return nil, &Fault{Status: 404, Code: "SubscriptionNotFound", Message: "The subscription '" + path[1] + "' could not be found."}
	}
	return req, req.route(path[7:])
}

// route determines the operation from the rest of the path.
func (req *request) route(rest []string) *Fault {
	req.IfMatch, req.IfNoneMatch = req.http.Header.Get("If-Match"), req.http.Header.Get("If-None-Match")
	method := req.http.Method
	switch {
	case len(rest) == 0 && method == http.MethodGet:
		req.Operation = ListZones
	case len(rest) == 2 && method == http.MethodGet && (strings.EqualFold(rest[1], "all") || strings.EqualFold(rest[1], "recordsets")):
		req.Operation, req.Zone = ListSets, strings.ToLower(rest[0])
	case len(rest) == 3:
		req.Zone, req.Type, req.Name = strings.ToLower(rest[0]), strings.ToUpper(rest[1]), strings.ToLower(rest[2])
		req.Operation = map[string]string{http.MethodGet: Get, http.MethodPut: Put, http.MethodDelete: Delete}[method]
	}
	if req.Operation == "" {
		return &Fault{Status: 405, Code: "MethodNotAllowed", Message: method + " " + req.http.URL.Path}
	}
	return nil
}

// admit checks the token and the rights.
func (s *Server) admit(req *request) *Fault {
	token, _ := strings.CutPrefix(req.http.Header.Get("Authorization"), "Bearer ")
	if until, known := s.tokens[token]; !known || !time.Now().Before(until) {
		return &Fault{Status: 401, Code: "InvalidAuthenticationToken", Message: "The access token is invalid."}
	}
	if s.Denied(req.Operation, req.Zone) {
		return &Fault{Status: 403, Code: "AuthorizationFailed", Message: fmt.Sprintf(
			"The client '%s' with object id '%[1]s' does not have authorization to perform action 'Microsoft.Network/%s' over scope '%s' or the scope is invalid.", ClientID, req.kind.resource(), req.http.URL.Path,
		)}
	}
	return nil
}

func (s *Server) perform(req *request) (answer, *Fault) {
	if req.Operation == ListZones {
		return s.listZones(req)
	}
	z := s.find(req.kind, req.group, req.Zone)
	if z == nil {
		return answer{}, &Fault{Status: 404, Code: "ParentResourceNotFound", Message: fmt.Sprintf(
			"Failed to perform '%s' on resource(s) of type '%s', because the parent resource '%s' could not be found.", req.Operation, req.kind.resource(), req.Zone,
		)}
	}
	switch req.Operation {
	case ListSets:
		return s.listSets(req, z)
	case Get:
		return s.get(req, z)
	case Put:
		return s.put(req, z)
	}
	return s.remove(req, z)
}

// fail responds with a fault.
func (s *Server) fail(w http.ResponseWriter, f *Fault) {
	if f.Cut {
		// net/http closes the connection without a response.
		panic(http.ErrAbortHandler)
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	var a answer
	a.status = f.Status
	if f.Bare {
		a.body = map[string]string{"code": f.Code, "message": f.Message}
	} else {
		a.body = map[string]any{"error": map[string]string{"code": f.Code, "message": f.Message}}
	}
	s.write(w, a)
}

func (s *Server) write(w http.ResponseWriter, a answer) {
	s.mu.Lock()
	s.requests++
	id := s.requests
	s.mu.Unlock()
	w.Header().Set("x-ms-request-id", fmt.Sprintf("request-%d", id))
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	apitest.WriteJSON(w, a.status, "application/json; charset=utf-8", a.body)
}

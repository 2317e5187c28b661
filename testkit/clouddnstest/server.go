package clouddnstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/apitest"
)

// Project is the ID of the server's project.
const Project = "test-project"

const (
	contentType = "application/json; charset=UTF-8"
	apiPath     = "/dns/v1/projects/"
	// bodyLimit is the most bytes of a request.
	bodyLimit = 8 << 20
)

// The operations that the server implements, by their names in the reference.
const (
	ListZones    = "managedZones.list"
	ListSets     = "resourceRecordSets.list"
	CreateChange = "changes.create"
	GetChange    = "changes.get"
)

// Server is a Google Cloud project. It implements [http.Handler].
type Server struct {
	apitest.Control[Call, Fault]
	apitest.Rate

	mu    sync.Mutex
	zones []*zone
	// changes has the time of each change.
	changes map[string]time.Time
	// tokens has the time at which each access token ends.
	tokens map[string]time.Time
}

// New returns a server without zones.
func New() *Server {
	return &Server{changes: map[string]time.Time{}, tokens: map[string]time.Time{}}
}

// request is a parsed request to the API.
type request struct {
	Call
	http *http.Request
	// id is the ID of the requested change.
	id string
	// answer carries out the request and returns the response. It is called with the lock held.
	answer func(*request) (any, *Fault)
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	switch {
	case err != nil:
		fail(w, &Fault{Status: http.StatusRequestEntityTooLarge, Reason: "uploadTooLarge", Message: "The request is too large."})
	case strings.HasPrefix(r.URL.Path, metadataPath):
		s.serveMetadata(w, r)
	case r.URL.Path == tokenPath:
		s.serveToken(w, r, body)
	default:
		s.serveAPI(w, r, body)
	}
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, body []byte) {
	req, fault := s.route(r, body)
	if fault == nil {
		fault = s.authorized(r)
	}
	if fault != nil {
		fail(w, fault)
		return
	}
	answer, fault := apitest.Do(&s.Control, req.Call, func() *Fault { return s.admit(req) }, func() (any, *Fault) { return s.perform(req) })
	if fault != nil {
		fail(w, fault)
		return
	}
	apitest.WriteJSON(w, http.StatusOK, contentType, answer)
}

// route determines the operation of a request.
func (s *Server) route(r *http.Request, body []byte) (*request, *Fault) {
	unknown := &Fault{Status: 404, Reason: "notFound", Message: "Not Found"}
	rest, ok := strings.CutPrefix(r.URL.Path, apiPath)
	path := strings.Split(rest, "/")
	if !ok || len(path) < 2 || path[1] != "managedZones" {
		return nil, unknown
	}
	if path[0] != Project {
		return nil, &Fault{Status: 403, Reason: "forbidden", Message: "Forbidden"}
	}
	req := &request{http: r}
	if len(path) > 2 {
		req.Zone = path[2]
	}
	switch {
	case r.Method == http.MethodGet && len(path) == 2:
		req.Operation, req.answer = ListZones, s.listZones
	case r.Method == http.MethodGet && len(path) == 4 && path[3] == "rrsets":
		req.Operation, req.answer = ListSets, s.listSets
	case r.Method == http.MethodPost && len(path) == 4 && path[3] == "changes":
		req.Operation, req.answer = CreateChange, s.createChange
		return req, decode(body, &req.Change)
	case r.Method == http.MethodGet && len(path) == 5 && path[3] == "changes":
		req.Operation, req.id, req.answer = GetChange, path[4], s.getChange
	default:
		return nil, unknown
	}
	var fault *Fault
	req.PageSize, fault = pageSize(r)
	return req, fault
}

// decode parses a change, in which unknown fields are errors.
func decode(body []byte, into any) *Fault {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return &Fault{Status: 400, Reason: "parseError", Message: "Invalid JSON payload received. " + err.Error()}
	}
	return nil
}

// admit checks the rate and the rights.
func (s *Server) admit(req *request) *Fault {
	if s.Exceeded() {
		return RateLimited
	}
	if s.Denied(req.Operation, req.Zone) {
		return &Fault{Status: 403, Reason: "forbidden", Message: fmt.Sprintf("The caller does not have the permission 'dns.%s' on 'projects/%s/managedZones/%s'", req.Operation, Project, req.Zone)}
	}
	return nil
}

func (s *Server) perform(req *request) (any, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Zone != "" && s.find(req.Zone) == nil {
		return nil, &Fault{Status: 404, Reason: "notFound", Message: fmt.Sprintf("The 'parameters.managedZone' resource named '%s' does not exist.", req.Zone)}
	}
	return req.answer(req)
}

// errorItem is one error of a response (error-messages).
type errorItem struct {
	Message string `json:"message"`
	Domain  string `json:"domain"`
	Reason  string `json:"reason"`
}

type errorAnswer struct {
	Error struct {
		Code    int         `json:"code"`
		Message string      `json:"message"`
		Errors  []errorItem `json:"errors"`
	} `json:"error"`
}

// fail responds with a fault.
func fail(w http.ResponseWriter, f *Fault) {
	if f.Cut {
		// net/http closes the connection without a response.
		panic(http.ErrAbortHandler)
	}
	var answer errorAnswer
	answer.Error.Code, answer.Error.Message = f.Status, f.Message
	answer.Error.Errors = []errorItem{{Message: f.Message, Domain: "global", Reason: f.Reason}}
	for _, more := range f.more {
		answer.Error.Errors = append(answer.Error.Errors, errorItem{Message: more.Message, Domain: "global", Reason: more.Reason})
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	apitest.WriteJSON(w, f.Status, contentType, answer)
}

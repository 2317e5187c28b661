package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/apitest"
)

// The credentials that the server accepts.
const (
	Token = "test-token-0123456789"
	Key   = "test-key-0123456789"
	Email = "ops@example.net"
)

const (
	// root is the prefix of all paths.
	root = "/client/v4/"
	// bodyLimit is the largest request body, in bytes.
	bodyLimit = 32 << 20
	// window is the period of the rate limit (fundamentals/api/reference/limits).
	window = 5 * time.Minute
)

// Server is the API, with the zones that the credentials may see. It implements [http.Handler].
type Server struct {
	apitest.Control[Call, Fault]

	mu    sync.Mutex
	zones []*zone
	// rate is how many requests are answered in a window; zero is any number.
	rate, used int
	since      time.Time
	ids        int
	rays       int
}

// New returns a server without zones.
func New() *Server { return &Server{} }

// request is a parsed request.
type request struct {
	Call
	http *http.Request
	body []byte
	// id is the ID of the request's object, below its zone.
	id string
	// answer carries out the request and returns the result. It is called with the lock held.
	answer func(*request) (result, *Fault)
}

// result is the result of a successful request.
type result struct {
	status int
	value  any
	info   *info
	// bare is true for a response without an envelope.
	bare bool
}

// info is the result_info of a response.
type info struct {
	Page       int `json:"page"`
	PerPage    int `json:"per_page"`
	Count      int `json:"count"`
	TotalCount int `json:"total_count"`
	TotalPages int `json:"total_pages"`
}

// message is an entry of errors.
type message struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Chain   []message `json:"error_chain,omitempty"`
}

type envelope struct {
	Success  bool      `json:"success"`
	Errors   []message `json:"errors"`
	Messages []message `json:"messages"`
	Result   any       `json:"result"`
	Info     *info     `json:"result_info,omitempty"`
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		s.fail(w, &Fault{Status: http.StatusRequestEntityTooLarge, Code: 7009, Message: "Request body too large"})
		return
	}
	if fault := authenticate(r.Header); fault != nil {
		s.fail(w, fault)
		return
	}
	req, fault := s.route(r, body)
	if fault != nil {
		s.fail(w, fault)
		return
	}
	answer, fault := apitest.Do(&s.Control, req.Call, func() *Fault { return s.admit(req) }, func() (result, *Fault) { return s.perform(req) })
	if fault != nil {
		s.fail(w, fault)
		return
	}
	if answer.bare {
		s.write(w, answer.status, answer.value)
		return
	}
	s.write(w, answer.status, envelope{Success: true, Errors: []message{}, Messages: []message{}, Result: answer.value, Info: answer.info})
}

// authenticate checks the credentials (fundamentals/api/how-to/make-api-calls).
func authenticate(h http.Header) *Fault {
	bearer, isToken := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	switch {
	case h.Get("Authorization") == "" && h.Get("X-Auth-Key") == "":
		return &Fault{Status: 400, Code: 9106, Message: "Missing X-Auth-Key, X-Auth-Email or Authorization headers"}
	case h.Get("Authorization") == "" && (h.Get("X-Auth-Key") != Key || h.Get("X-Auth-Email") != Email):
		return &Fault{Status: 403, Code: 9103, Message: "Unknown X-Auth-Key or X-Auth-Email"}
	case h.Get("Authorization") == "":
		return nil
	case !isToken || len(bearer) < len("0123456789"):
		return &Fault{Status: 400, Code: 6003, Message: "Invalid request headers", Cause: "Invalid format for Authorization header", CauseCode: 6111}
	case bearer != Token:
		return &Fault{Status: 403, Code: 9109, Message: "Invalid access token"}
	}
	return nil
}

// route determines the operation of a request.
func (s *Server) route(r *http.Request, body []byte) (*request, *Fault) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, root), "/")
	unknown := &Fault{Status: 404, Code: 7000, Message: "No route for that URI"}
	if !strings.HasPrefix(r.URL.Path, root) || path[0] != "zones" {
		return nil, unknown
	}
	req := &request{http: r, body: body}
	req.Query = r.URL.Query()
	if len(path) > 1 {
		req.Zone = path[1]
	}
	below := ""
	if len(path) > 2 {
		below = strings.Join(path[2:], "/")
	}
	for _, known := range s.routes() {
		rest, ok := strings.CutPrefix(below, known.path)
		if !ok || r.Method != known.method || (req.Zone != "") != known.zone {
			continue
		}
		rest = strings.TrimPrefix(rest, "/")
		if (rest != "") != known.id || strings.Contains(rest, "/") {
			continue
		}
		req.Operation, req.id, req.answer = known.operation, rest, known.answer
		return req, req.understand()
	}
	return nil, unknown
}

type route struct {
	method, path string
	// zone is true if the path has a zone, and id if it ends with an ID.
	zone, id  bool
	operation string
	answer    func(*request) (result, *Fault)
}

func (s *Server) routes() []route {
	const records, hostnames, regions = "dns_records", "custom_hostnames", "addressing/regional_hostnames"
	return []route{
		{"GET", "", false, false, ListZones, s.listZones},
		{"GET", "", true, false, GetZone, s.getZone},
		{"GET", records, true, false, ListRecords, s.listRecords},
		{"POST", records + "/batch", true, false, Batch, s.batch},
		{"GET", hostnames, true, false, ListHostnames, s.listHostnames},
		{"POST", hostnames, true, false, CreateHostname, s.createHostname},
		{"DELETE", hostnames, true, true, DeleteHostname, s.deleteHostname},
		{"GET", regions, true, false, ListRegions, s.listRegions},
		{"POST", regions, true, false, CreateRegion, s.createRegion},
		{"PATCH", regions, true, true, EditRegion, s.editRegion},
		{"DELETE", regions, true, true, DeleteRegion, s.deleteRegion},
	}
}

// understand parses the body of a batch.
func (r *request) understand() *Fault {
	if r.Operation != Batch {
		return nil
	}
	if err := json.Unmarshal(r.body, &r.Changes); err != nil {
		return &Fault{Status: 400, Code: 9207, Message: "Request body is invalid: " + err.Error()}
	}
	return nil
}

// admit checks the rate and the permissions.
func (s *Server) admit(req *request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rate > 0 {
		now := time.Now()
		if now.Sub(s.since) >= window {
			s.since, s.used = now, 0
		}
		if s.used++; s.used > s.rate {
			return Throttled(s.since.Add(window).Sub(now))
		}
	}
	if s.Denied(req.Operation, req.Zone) {
		return &Fault{Status: 403, Code: 10000, Message: "Authentication error"}
	}
	return nil
}

func (s *Server) perform(req *request) (result, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Zone != "" && s.find(req.Zone) == nil {
		return result{}, &Fault{Status: 404, Code: 7003, Message: "Could not route to /client/v4/zones/" + req.Zone + ", perhaps your object identifier is invalid?"}
	}
	answer, fault := req.answer(req)
	if answer.status == 0 {
		answer.status = http.StatusOK
	}
	return answer, fault
}

// fail responds with a fault.
func (s *Server) fail(w http.ResponseWriter, f *Fault) {
	if f.Cut {
		// net/http closes the connection without a response.
		panic(http.ErrAbortHandler)
	}
	m := message{Code: f.Code, Message: f.Message}
	if f.Cause != "" {
		m.Chain = []message{{Code: f.CauseCode, Message: f.Cause}}
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Round(time.Second)/time.Second)))
	}
	s.write(w, f.Status, envelope{Errors: []message{m}, Messages: []message{}})
}

func (s *Server) write(w http.ResponseWriter, status int, answer any) {
	s.mu.Lock()
	s.rays++
	ray := fmt.Sprintf("%016x-TST", s.rays)
	s.mu.Unlock()
	w.Header().Set("CF-RAY", ray)
	apitest.WriteJSON(w, status, "application/json", answer)
}

// nextID returns an unused ID.
func (s *Server) nextID() string {
	s.ids++
	return fmt.Sprintf("%032x", s.ids)
}

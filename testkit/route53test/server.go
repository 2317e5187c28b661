package route53test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/apitest"
	"github.com/signpostd/signpost/testkit/awstest"
)

const (
	namespace = "https://route53.amazonaws.com/doc/2013-04-01/"
	version   = "/2013-04-01/"
	// bodyLimit is the largest request body, in bytes.
	bodyLimit = 8 << 20
)

// Server is an AWS account. It implements [http.Handler].
type Server struct {
	apitest.Control[Call, Fault]
	apitest.Rate

	mu    sync.Mutex
	zones []*zone
	// changes has the time of each change.
	changes     map[string]time.Time
	propagation time.Duration
	requests    int
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// New returns a server without zones.
func New() *Server {
	return &Server{changes: map[string]time.Time{}}
}

// request is a parsed request.
type request struct {
	Call
	http *http.Request
	// body is the body of the request.
	body []byte
	// answer carries out the request and returns the response. It is called with the lock held.
	answer func(*request) (any, *Fault)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		s.fail(w, &Fault{Status: http.StatusRequestEntityTooLarge, Code: "InvalidInput", Message: "The request is too large."})
		return
	}
	if refusal := awstest.Signed(r, body, "route53"); refusal != nil {
		s.fail(w, &Fault{Status: refusal.Status, Code: refusal.Code, Message: refusal.Message})
		return
	}
	req, fault := s.route(r, body)
	if fault != nil {
		s.fail(w, fault)
		return
	}
	answer, fault := apitest.Do(&s.Control, req.Call, func() *Fault { return s.admit(req) }, func() (any, *Fault) { return s.perform(req) })
	if fault != nil {
		s.fail(w, fault)
		return
	}
	s.write(w, http.StatusOK, answer)
}

// route determines the operation of a request.
func (s *Server) route(r *http.Request, body []byte) (*request, *Fault) {
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, version), "/"), "/")
	req := &request{http: r, body: body}
	switch {
	case r.Method == http.MethodGet && len(path) == 1 && path[0] == "hostedzone":
		req.Operation, req.answer = "ListHostedZones", s.listZones
	case r.Method == http.MethodPost && len(path) == 2 && path[0] == "tags" && path[1] == "hostedzone":
		req.Operation, req.answer = "ListTagsForResources", s.listTags
	case r.Method == http.MethodGet && len(path) == 3 && path[0] == "hostedzone" && path[2] == "rrset":
		req.Operation, req.Zone, req.answer = "ListResourceRecordSets", path[1], s.listSets
	case r.Method == http.MethodPost && len(path) == 3 && path[0] == "hostedzone" && path[2] == "rrset":
		req.Operation, req.Zone, req.answer = "ChangeResourceRecordSets", path[1], s.change
		var change changeRequest
		if err := xml.Unmarshal(body, &change); err != nil {
			return nil, &Fault{Status: 400, Code: "InvalidInput", Message: "Invalid XML ; " + err.Error()}
		}
		req.Changes = change.Changes
	case r.Method == http.MethodGet && len(path) == 2 && path[0] == "change":
		req.Operation, req.answer = "GetChange", s.getChange
	default:
		return nil, &Fault{Status: 404, Code: "UnknownOperationException", Message: r.Method + " " + r.URL.Path}
	}
	return req, nil
}

// admit checks the rate and the rights.
func (s *Server) admit(req *request) *Fault {
	if s.Exceeded() {
		return Throttled
	}
	if s.Denied(req.Operation, req.Zone) {
		resource := "*"
		if req.Zone != "" {
			resource = "arn:aws:route53:::hostedzone/" + req.Zone
		}
		return &Fault{Status: 403, Code: "AccessDenied", Message: fmt.Sprintf(
			"User: arn:aws:iam::123456789012:user/test is not authorized to perform: route53:%s on resource: %s because no identity-based policy allows the route53:%[1]s action", req.Operation, resource,
		)}
	}
	return nil
}

func (s *Server) perform(req *request) (any, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Zone != "" && s.find(req.Zone) == nil {
		return nil, &Fault{Status: 404, Code: "NoSuchHostedZone", Message: "No hosted zone found with ID: " + req.Zone}
	}
	return req.answer(req)
}

type errorResponse struct {
	XMLName xml.Name `xml:"ErrorResponse"`
	Space   string   `xml:"xmlns,attr"`
	Error   struct{ Type, Code, Message string }
	ID      string `xml:"RequestId"`
}

// fail responds with a fault.
func (s *Server) fail(w http.ResponseWriter, f *Fault) {
	if f.Cut {
		// net/http closes the connection without a response.
		panic(http.ErrAbortHandler)
	}
	answer := errorResponse{Space: namespace, ID: s.requestID()}
	answer.Error.Type, answer.Error.Code, answer.Error.Message = "Sender", f.Code, f.Message
	if f.Status >= 500 {
		answer.Error.Type = "Receiver"
	}
	s.write(w, f.Status, answer)
}

func (s *Server) requestID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return fmt.Sprintf("request-%d", s.requests)
}

func (s *Server) write(w http.ResponseWriter, status int, answer any) {
	text, err := xml.Marshal(answer)
	if err != nil {
		panic(err) // Responses are types of this package.
	}
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("x-amzn-RequestId", s.requestID())
	w.WriteHeader(status)
	// A write error means that the client has disconnected.
	_, _ = w.Write(append([]byte(xml.Header), text...))
}

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
	"github.com/signpostd/signpost/testkit/awstest"
)

// The credentials that the server accepts.
const (
	AccessKeyID     = awstest.AccessKeyID
	SecretAccessKey = awstest.SecretAccessKey
)

const (
	namespace = "https://route53.amazonaws.com/doc/2013-04-01/"
	version   = "/2013-04-01/"
	// bodyLimit is the largest request body, in bytes.
	bodyLimit = 8 << 20
)

// Server is an AWS account. It implements [http.Handler].
type Server struct {
	mu    sync.Mutex
	zones []*zone
	// changes has the time of each change.
	changes     map[string]time.Time
	denied      map[string]bool
	calls       []Call
	hooks       Hooks
	lag         time.Duration
	propagation time.Duration
	rate        int
	tokens      float64
	refilled    time.Time
	now         func() time.Time
	requests    int
	refused     int
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// New returns a server without zones.
func New() *Server {
	return &Server{changes: map[string]time.Time{}, denied: map[string]bool{}, now: time.Now}
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
	hooks, fault := s.admit(req)
	if fault == nil && hooks.Before != nil {
		fault = hooks.Before(req.Call)
	}
	if fault != nil {
		s.fail(w, fault)
		return
	}
	answer, fault := s.perform(req)
	if fault == nil && hooks.After != nil {
		fault = hooks.After(req.Call)
	}
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

// admit checks the rate and the rights, and records the call.
func (s *Server) admit(req *request) (Hooks, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, req.Call)
	if s.rate > 0 {
		now := s.now()
		s.tokens = min(s.tokens+now.Sub(s.refilled).Seconds()*float64(s.rate), float64(s.rate))
		s.refilled = now
		if s.tokens < 1 {
			return s.hooks, Throttled
		}
		s.tokens--
	}
	if s.denied[req.right()] || s.denied[Call{Operation: req.Operation}.right()] {
		resource := "*"
		if req.Zone != "" {
			resource = "arn:aws:route53:::hostedzone/" + req.Zone
		}
		return s.hooks, &Fault{Status: 403, Code: "AccessDenied", Message: fmt.Sprintf(
			"User: arn:aws:iam::123456789012:user/test is not authorized to perform: route53:%s on resource: %s because no identity-based policy allows the route53:%[1]s action", req.Operation, resource,
		)}
	}
	return s.hooks, nil
}

func (s *Server) perform(req *request) (any, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Zone != "" && s.find(req.Zone) == nil {
		return nil, &Fault{Status: 404, Code: "NoSuchHostedZone", Message: "No hosted zone found with ID: " + req.Zone}
	}
	answer, fault := req.answer(req)
	if fault != nil {
		s.refused++
	}
	return answer, fault
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

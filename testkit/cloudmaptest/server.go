package cloudmaptest

import (
	"encoding/json"
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
	target = "Route53AutoNaming_v20170314."
	// bodyLimit is the largest request body, in bytes.
	bodyLimit = 1 << 20
)

// Server is an AWS account. It implements [http.Handler].
type Server struct {
	mu         sync.Mutex
	namespaces []*Namespace
	services   []*service
	operations map[string]*operation
	numbers    int
	denied     map[string]bool
	calls      []Call
	hooks      Hooks
	rate       int
	tokens     float64
	refilled   time.Time
	// lag is the delay of service listings, dataLag the delay of revisions, and takes the duration of an
	// operation.
	lag, dataLag, takes time.Duration
	// quota is the limit of instances per namespace, and perService per service.
	quota, perService int
	// oneCNAME limits services with CNAME records to one instance.
	oneCNAME bool
}

// New returns a server without namespaces.
func New() *Server {
	return &Server{operations: map[string]*operation{}, denied: map[string]bool{}, quota: 2000, perService: 1000}
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// handlers has the function of each action. It is called with the lock held, carries out the action, and
// returns the response.
var handlers = map[string]func(s *Server, body []byte) (any, *Fault){
	"ListNamespaces": listNamespaces, "ListServices": listServices, "GetService": getService, "CreateService": createService, "UpdateService": updateService,
	"DeleteService": deleteService, "RegisterInstance": registerInstance, "DeregisterInstance": deregisterInstance, "ListInstances": listInstances,
	"DiscoverInstancesRevision": discoverRevision, "GetOperation": getOperation,
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		s.fail(w, &Fault{Status: http.StatusRequestEntityTooLarge, Code: "SerializationException", Message: "The request is too large."})
		return
	}
	if refusal := awstest.Signed(r, body, "servicediscovery"); refusal != nil {
		s.fail(w, &Fault{Status: refusal.Status, Code: refusal.Code, Message: refusal.Message})
		return
	}
	call := Call{Operation: strings.TrimPrefix(r.Header.Get("X-Amz-Target"), target), Body: string(body)}
	handle := handlers[call.Operation]
	if handle == nil || r.Method != http.MethodPost || r.URL.Path != "/" {
		s.fail(w, &Fault{Status: 404, Code: "UnknownOperationException", Message: r.Method + " " + r.URL.Path})
		return
	}
	if strings.HasPrefix(call.Operation, "Discover") != strings.HasPrefix(r.Host, "data-") && strings.HasSuffix(r.Host, ".amazonaws.com") {
		s.fail(w, &Fault{Status: 404, Code: "UnknownOperationException", Message: call.Operation + " at " + r.Host})
		return
	}
	hooks, fault := s.admit(call)
	if fault == nil && hooks.Before != nil {
		fault = hooks.Before(call)
	}
	if fault != nil {
		s.fail(w, fault)
		return
	}
	s.mu.Lock()
	answer, fault := handle(s, body)
	s.mu.Unlock()
	if fault == nil && hooks.After != nil {
		fault = hooks.After(call)
	}
	if fault != nil {
		s.fail(w, fault)
		return
	}
	s.write(w, http.StatusOK, answer)
}

// admit checks the rate and the rights, and records the call.
func (s *Server) admit(call Call) (Hooks, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	// DiscoverInstances has a quota of its own.
	if s.rate > 0 && !strings.HasPrefix(call.Operation, "Discover") {
		now := time.Now()
		s.tokens = min(s.tokens+now.Sub(s.refilled).Seconds()*float64(s.rate), float64(s.rate))
		s.refilled = now
		if s.tokens < 1 {
			return s.hooks, Throttled
		}
		s.tokens--
	}
	if s.denied[call.Operation] {
		return s.hooks, &Fault{Status: 400, Code: "AccessDeniedException", Message: fmt.Sprintf(
			"User: arn:aws:iam::123456789012:user/test is not authorized to perform: servicediscovery:%s because no identity-based policy allows the action", call.Operation,
		)}
	}
	return s.hooks, nil
}

// fail responds with a fault.
func (s *Server) fail(w http.ResponseWriter, f *Fault) {
	if f.Cut {
		// net/http closes the connection without a response.
		panic(http.ErrAbortHandler)
	}
	answer := map[string]string{"__type": f.Code, "Message": f.Message}
	for key, value := range f.More {
		answer[key] = value
	}
	s.write(w, f.Status, answer)
}

func (s *Server) write(w http.ResponseWriter, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // Responses are types of this package.
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	// A write error means that the client has disconnected.
	_, _ = w.Write(text)
}

// number returns an unused number.
func (s *Server) number() int {
	s.numbers++
	return s.numbers
}

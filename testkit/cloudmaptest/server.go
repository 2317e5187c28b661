package cloudmaptest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/apitest"
	"github.com/signpostd/signpost/testkit/awstest"
)

const (
	contentType = "application/x-amz-json-1.1"
	target      = "Route53AutoNaming_v20170314."
	// bodyLimit is the most bytes of a request.
	bodyLimit = 1 << 20
)

// Server is an AWS account. It implements [http.Handler].
type Server struct {
	apitest.Control[Call, Fault]
	apitest.Rate

	mu         sync.Mutex
	namespaces []*Namespace
	services   []*service
	operations map[string]*operation
	numbers    int
	// operation is the hook for operations.
	operation func(kind, instance string) (code string)
	// dataLag is how late revisions change, and takes how long an operation takes.
	dataLag, takes time.Duration
	// quota is how many instances a namespace may have, and perService how many a service.
	quota, perService int
	// oneCNAME limits services with CNAME records to one instance.
	oneCNAME bool
}

// New returns a server without namespaces.
func New() *Server {
	return &Server{operations: map[string]*operation{}, quota: 2000, perService: 1000}
}

// Transport returns a transport to the server without a network, for testing/synctest.
func (s *Server) Transport() http.RoundTripper { return handlertransport.New(s) }

// handlers has the function of each action. It is called with the lock held, carries out the action, and
// returns the response.
var handlers = map[string]func(s *Server, body []byte) (any, *Fault){
	"ListNamespaces": handler(listNamespaces), "ListServices": handler(listServices), "GetService": handler(getService),
	"CreateService": handler(createService), "UpdateService": handler(updateService), "DeleteService": handler(deleteService),
	"RegisterInstance": handler(registerInstance), "DeregisterInstance": handler(deregisterInstance), "ListInstances": handler(listInstances),
	"DiscoverInstancesRevision": handler(discoverRevision), "GetOperation": handler(getOperation),
}

// handler decodes the requests of an action. Operations that are due end before the action.
func handler[T any](action func(s *Server, in T) (any, *Fault)) func(s *Server, body []byte) (any, *Fault) {
	return func(s *Server, body []byte) (any, *Fault) {
		var in T
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, &Fault{Status: 400, Code: "SerializationException", Message: err.Error()}
		}
		s.settle()
		return action(s, in)
	}
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
	answer, fault := apitest.Do(&s.Control, call, func() *Fault { return s.admit(call) }, func() (any, *Fault) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return handle(s, body)
	})
	if fault != nil {
		s.fail(w, fault)
		return
	}
	w.Header().Set("x-amzn-RequestId", rand.Text())
	apitest.WriteJSON(w, http.StatusOK, contentType, answer)
}

// admit checks the rate and the rights.
func (s *Server) admit(call Call) *Fault {
	// Questions about instances have a quota of their own.
	if !strings.HasPrefix(call.Operation, "Discover") && s.Exceeded() {
		return Throttled
	}
	if s.Denied(call.Operation, "") {
		return &Fault{Status: 400, Code: "AccessDeniedException", Message: fmt.Sprintf(
			"User: arn:aws:iam::123456789012:user/test is not authorized to perform: servicediscovery:%s because no identity-based policy allows the action", call.Operation,
		)}
	}
	return nil
}

// fail responds with a fault.
func (s *Server) fail(w http.ResponseWriter, f *Fault) {
	if f.Cut {
		// net/http closes the connection without a response.
		panic(http.ErrAbortHandler)
	}
	answer := map[string]string{"__type": f.Code, "Message": f.Message}
	maps.Copy(answer, f.More)
	apitest.WriteJSON(w, f.Status, contentType, answer)
}

// number returns an unused number.
func (s *Server) number() int {
	s.numbers++
	return s.numbers
}

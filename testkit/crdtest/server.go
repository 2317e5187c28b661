package crdtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/internal/handlertransport"
)

// collection is the path of the DNSRecords.
const collection = "/apis/externaldns.k8s.io/v1alpha1/namespaces/default/dnsrecords"

var resource = schema.GroupResource{Group: externaldns.SchemeGroupVersion.Group, Resource: "dnsrecords"}

// Server is an API server with the DNSRecords of the namespace default.
type Server struct {
	t  testing.TB
	mu sync.Mutex
	// objects are the DNSRecords by name.
	objects map[string]*externaldns.DNSRecord
	version int
}

// New returns a server without objects.
func New(t testing.TB) *Server {
	return &Server{t: t, objects: map[string]*externaldns.DNSRecord{}}
}

// Config returns the configuration of a client. Wrap, if not nil, wraps its transport.
func (s *Server) Config(wrap func(http.RoundTripper) http.RoundTripper) (*rest.Config, *http.Client) {
	transport := handlertransport.New(s)
	if wrap != nil {
		transport = wrap(transport)
	}
	return &rest.Config{Host: "http://kubernetes.invalid", QPS: -1}, &http.Client{Transport: transport}
}

// Objects returns the DNSRecords, by name.
func (s *Server) Objects() []*externaldns.DNSRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*externaldns.DNSRecord
	for _, object := range s.objects {
		all = append(all, object.DeepCopy())
	}
	slices.SortFunc(all, func(a, b *externaldns.DNSRecord) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Put adds an object, or replaces it.
func (s *Server) Put(object *externaldns.DNSRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(object.DeepCopy())
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := err.Status()
		status.Kind, status.APIVersion = "Status", "v1"
		w.WriteHeader(int(status.Code))
		answer = status
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func (s *Server) answer(r *http.Request) (any, *apierrors.StatusError) {
	rest, ok := strings.CutPrefix(r.URL.Path, collection)
	if !ok {
		s.t.Errorf("request %s %s", r.Method, r.URL)
	}
	name, part, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	if r.Method == http.MethodGet && name == "" {
		return s.list(r)
	}
	if r.Method == http.MethodPost {
		return s.create(r)
	}
	live := s.objects[name]
	if live == nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	switch r.Method {
	case http.MethodGet:
		return live, nil
	case http.MethodPut:
		return s.update(live, s.decode(r), part)
	case http.MethodDelete:
		return s.remove(live, r)
	default:
		s.t.Errorf("request %s %s", r.Method, r.URL)
		return nil, apierrors.NewMethodNotSupported(resource, r.Method)
	}
}

func (s *Server) list(r *http.Request) (any, *apierrors.StatusError) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	list := &externaldns.DNSRecordList{Items: []externaldns.DNSRecord{}}
	list.APIVersion, list.Kind = externaldns.SchemeGroupVersion.String(), "DNSRecordList"
	for _, object := range s.objects {
		if selector.Matches(labels.Set(object.Labels)) {
			list.Items = append(list.Items, *object)
		}
	}
	return list, nil
}

func (s *Server) create(r *http.Request) (any, *apierrors.StatusError) {
	object := s.decode(r)
	if s.objects[object.Name] != nil {
		return nil, apierrors.NewAlreadyExists(resource, object.Name)
	}
	// A real server drops the status of a new object.
	object.Status, object.Generation = externaldns.DNSRecordStatus{}, 1
	return s.store(object), nil
}

func (s *Server) update(live, object *externaldns.DNSRecord, part string) (any, *apierrors.StatusError) {
	if object.ResourceVersion != live.ResourceVersion {
		return nil, apierrors.NewConflict(resource, object.Name, fmt.Errorf("version %s is out of date", object.ResourceVersion))
	}
	next := live.DeepCopy()
	if part == "status" {
		next.Status = object.Status
		return s.store(next), nil
	}
	if !equality.Semantic.DeepEqual(next.Spec, object.Spec) {
		next.Generation++
	}
	next.Labels, next.Annotations, next.Spec = object.Labels, object.Annotations, object.Spec
	return s.store(next), nil
}

func (s *Server) remove(live *externaldns.DNSRecord, r *http.Request) (any, *apierrors.StatusError) {
	var options metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != live.UID {
		return nil, apierrors.NewConflict(resource, live.Name, fmt.Errorf("the UID is %s", live.UID))
	}
	delete(s.objects, live.Name)
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}, nil
}

func (s *Server) decode(r *http.Request) *externaldns.DNSRecord {
	object := &externaldns.DNSRecord{}
	if err := json.NewDecoder(r.Body).Decode(object); err != nil {
		s.t.Errorf("request %s %s: %v", r.Method, r.URL, err)
	}
	return object
}

// store stores an object with a new version.
func (s *Server) store(object *externaldns.DNSRecord) *externaldns.DNSRecord {
	s.version++
	if object.UID == "" {
		object.UID = types.UID(fmt.Sprint("uid-", s.version))
	}
	object.APIVersion, object.Kind = externaldns.SchemeGroupVersion.String(), "DNSRecord"
	object.Namespace, object.ResourceVersion = "default", strconv.Itoa(s.version)
	s.objects[object.Name] = object
	return object
}

package azuretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// get returns a record set.
func (s *Server) get(req *request, z *zone) (answer, *Fault) {
	r := z.Now()[setKey{req.Name, req.Type}]
	if r == nil {
		return answer{}, notFound(req)
	}
	return answer{200, r.wire(z)}, nil
}

func notFound(req *request) *Fault {
	return &Fault{Status: 404, Code: "NotFound", Message: fmt.Sprintf("The resource record '%s' does not exist in resource group '%s'.", req.Name, req.group), Bare: true}
}

// condition compares the ETags of a request with the existing record set (dns-zones-records, "Etags").
func condition(req *request, there *RecordSet) *Fault {
	exists := there != nil
	switch {
	case req.IfNoneMatch == "*" && exists,
		req.IfMatch == "*" && !exists,
		req.IfMatch != "" && req.IfMatch != "*" && (!exists || there.ETag != req.IfMatch):
		return &Fault{Status: 412, Code: "PreconditionFailed", Message: fmt.Sprintf("The Record set %s exists already and hence cannot be created again, or its etag mismatch.", req.Name), Bare: true}
	}
	return nil
}

// put creates or replaces a record set (REST reference, record-sets, create-or-update).
func (s *Server) put(req *request, z *zone) (answer, *Fault) {
	k := setKey{req.Name, req.Type}
	there := z.Now()[k]
	r := &RecordSet{Name: req.Name, Type: req.Type}
	if fault := parse(req, r); fault != nil {
		return answer{}, fault
	}
	if fault := condition(req, there); fault != nil {
		return answer{}, fault
	}
	if message := z.check(r); message != "" {
		return answer{}, &Fault{Status: 400, Code: "BadRequest", Message: message, Bare: true}
	}
	if message := z.beside(r); message != "" {
		return answer{}, &Fault{Status: 409, Code: "Conflict", Message: message, Bare: true}
	}
	if there != nil && there.Registered {
		return answer{}, &Fault{Status: 400, Code: "BadRequest", Message: "The record set was registered by a virtual network, and can't be changed.", Bare: true}
	}
	r.ETag = s.etag()
	z.Set(k, r, s.Lag())
	status := 200
	if there == nil {
		status = 201
	}
	return answer{status, r.wire(z)}, nil
}

// parse reads the body of a request.
func parse(req *request, r *RecordSet) *Fault {
	var body struct {
		ETag       string           `json:"etag"`
		ID         string           `json:"id"`
		Name       string           `json:"name"`
		Type       string           `json:"type"`
		Properties *json.RawMessage `json:"properties"`
	}
	invalid := func(err error) *Fault {
		return &Fault{Status: 400, Code: "InvalidRequestContent", Message: "The request content was invalid and could not be deserialized: " + err.Error()}
	}
	if err := strict(req.body, &body); err != nil {
		return invalid(err)
	}
	if body.Properties == nil {
		return &Fault{Status: 400, Code: "BadRequest", Message: "The properties of the record set are missing.", Bare: true}
	}
	if req.kind == public {
		if err := strict(*body.Properties, &r.Properties); err != nil {
			return invalid(err)
		}
		return nil
	}
	var p privateProperties
	if err := strict(*body.Properties, &p); err != nil {
		return invalid(err)
	}
	r.Properties = Properties(p)
	return nil
}

func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// remove deletes a record set (REST reference, record-sets, delete). Status 204 means that it didn't exist.
func (s *Server) remove(req *request, z *zone) (answer, *Fault) {
	k := setKey{req.Name, req.Type}
	there := z.Now()[k]
	switch {
	case there == nil:
		return answer{status: 204}, nil
	case k.recordType == "SOA" || k.name == "@" && k.recordType == "NS":
		return answer{}, &Fault{Status: 400, Code: "BadRequest", Message: fmt.Sprintf("RecordSets of type '%s' with name '@' cannot be deleted.", k.recordType), Bare: true}
	}
	if fault := condition(req, there); fault != nil {
		return answer{}, fault
	}
	if there.Registered {
		return answer{}, &Fault{Status: 400, Code: "BadRequest", Message: "The record set was registered by a virtual network, and can't be deleted.", Bare: true}
	}
	z.Set(k, nil, s.Lag())
	return answer{status: 200}, nil
}

// contains reports whether a list of words has a word.
func contains(list, word string) bool { return strings.Contains(" "+list+" ", " "+word+" ") }

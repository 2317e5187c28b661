// Package eventsink sends Events such that equal Events are one object, whichever process sends them and
// however often.
//
// client-go counts repeated Events, but forgets them at the end of the process, and names each Event after
// the time. So seven restarts make seven lines in `kubectl describe`, and two replicas make two. Here the
// name of an Event is a hash of its content ([Name]), and an Event that exists in the API server is counted
// there.
//
// The controllers and the roles destination and xds send through [Recorders], and a process about its own pod
// through a [New] sink. The dns role, whose Events have another form, uses Name.
//
// # Concurrency
//
// A sink and a recorder may be used from any goroutine. If two processes count the same Event at the same
// moment, one count is lost.
package eventsink

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// sink is an EventSink that names Events by their content.
type sink struct{ record.EventSink }

// New returns a sink for Events of any namespace. It needs the rights to create and patch Events; without
// patch, repeated Events aren't counted.
func New(client corev1client.EventsGetter) record.EventSink {
	return sink{&corev1client.EventSinkImpl{Interface: client.Events("")}}
}

// Create implements record.EventSink.
func (s sink) Create(e *corev1.Event) (*corev1.Event, error) {
	e = e.DeepCopy()
	o := &e.InvolvedObject
	e.Name = Name(o.Name, o.APIVersion, o.Kind, o.Namespace, string(o.UID), o.FieldPath, e.Source.Component, e.Type, e.Reason, e.Message)
	created, err := s.EventSink.Create(e)
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	counted, err := s.count(e)
	if apierrors.IsForbidden(err) {
		return e, nil // the Event exists; its count matters less
	}
	return counted, err
}

// emptyPatch is a patch without changes. Its response is the object, which avoids the right to read Events.
var emptyPatch = []byte("{}")

// count increases the count of an existing Event.
func (s sink) count(e *corev1.Event) (*corev1.Event, error) {
	existing, err := s.Patch(e, emptyPatch)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(struct {
		Count         int32       `json:"count"`
		LastTimestamp metav1.Time `json:"lastTimestamp"`
	}{max(existing.Count, 1) + max(e.Count, 1), e.LastTimestamp})
	if err != nil {
		return nil, err
	}
	return s.Patch(e, patch)
}

// Name returns the name of an Event on an object, a hash of its content: equal Events have equal names, and
// different Events different names. The name is valid for any name of the object.
func Name(object string, content ...string) string {
	const most = 253
	hash := sha256.New()
	for _, text := range append(content, object) {
		_, _ = hash.Write([]byte(text))
		_, _ = hash.Write([]byte{0})
	}
	suffix := "." + hex.EncodeToString(hash.Sum(nil)[:8])
	valid := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(object))
	valid = strings.Trim(valid, "-.")
	if len(valid)+len(suffix) > most {
		valid = strings.TrimRight(valid[:most-len(suffix)], "-.")
	}
	if valid == "" {
		valid = "object"
	}
	return valid + suffix
}

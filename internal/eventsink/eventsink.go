// Package eventsink sends Events so that the same one is there once, however often and by whichever process it is sent.
//
// client-go counts repeated Events, but forgets them at the end of the process, and names each after the time. So
// seven restarts make seven lines in `kubectl describe`, and two replicas make two. Here the name of an Event is made of what it
// says ([Name]). An Event that the API server has already is counted there.
//
// The controllers and the destination role send through [Recorders], and a process about its own pod through a [New] sink.
// The dns role, whose Events have another form, uses Name.
//
// # Concurrency
//
// A sink and a recorder may be used from any goroutine. Of two processes that count the same Event at the same moment, one count is lost.
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

// sink is a sink with names of its own.
type sink struct{ record.EventSink }

// New returns a sink for Events of any namespace. It needs the rights to create and patch Events; without the
// latter they aren't counted.
func New(client corev1client.EventsGetter) record.EventSink {
	return sink{&corev1client.EventSinkImpl{Interface: client.Events("")}}
}

// Create implements record.EventSink.
func (s sink) Create(e *corev1.Event) (*corev1.Event, error) {
	e = e.DeepCopy()
	o := &e.InvolvedObject
	e.Name = Name(o.Name, o.APIVersion, o.Kind, o.Namespace, string(o.UID), o.FieldPath, e.Source.Component, e.Type, e.Reason, e.Message)
	made, err := s.EventSink.Create(e)
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	counted, err := s.count(e)
	if apierrors.IsForbidden(err) {
		return e, nil // it is there, which is what matters
	}
	return counted, err
}

// nothing is a patch that changes nothing. Its answer is the object, for which the right to read isn't needed.
var nothing = []byte("{}")

// count counts an Event that the API server has.
func (s sink) count(e *corev1.Event) (*corev1.Event, error) {
	there, err := s.Patch(e, nothing)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(struct {
		Count         int32       `json:"count"`
		LastTimestamp metav1.Time `json:"lastTimestamp"`
	}{max(there.Count, 1) + max(e.Count, 1), e.LastTimestamp})
	if err != nil {
		return nil, err
	}
	return s.Patch(e, patch)
}

// Name returns the name of an Event about an object, which is made of all that it says: equal Events have equal names, and
// others have others. The name is valid whatever the object is called.
func Name(object string, says ...string) string {
	const most = 253
	hash := sha256.New()
	for _, text := range append(says, object) {
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

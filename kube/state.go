package kube

import (
	"errors"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// idleLimit is how long a watch may be silent before its table counts as stale. If nothing changes, an API
// server sends a bookmark after 2 minutes (measured with v1.36), then one every minute.
const idleLimit = 3 * time.Minute

// State is the state of a table.
type State string

// The states of a table.
const (
	// Connecting: nothing was received and nothing failed yet.
	Connecting State = "connecting"
	// Synced: the table holds the API server's objects and follows their changes.
	Synced State = "synced"
	// Waiting: the last attempt failed; the next one follows within seconds. The table keeps its objects.
	Waiting State = "waiting"
)

// Reason is why a table is waiting.
type Reason string

// The reasons for waiting.
const (
	// NotFound: the API server doesn't know the kind, because its CRD isn't installed.
	NotFound Reason = "not found"
	// OtherVersion: the API server serves the kind, but in another version than the one read. Its objects
	// exist.
	OtherVersion Reason = "other version"
	// DiscoveryForbidden: the API server doesn't serve the kind in the version read, and refuses to list its
	// other versions. Its objects may exist.
	DiscoveryForbidden Reason = "discovery forbidden"
	// Terminating: the CRD of the kind is being removed. The API server deletes the objects; they are still
	// watched.
	Terminating Reason = "terminating"
	// Forbidden: the role in use lacks list or watch on the kind.
	Forbidden Reason = "forbidden"
	// Unauthorized: the API server doesn't accept the credentials.
	Unauthorized Reason = "unauthorized"
	// Unreachable: the API server didn't respond.
	Unreachable Reason = "unreachable"
	// ServerError: the API server responded with any other error.
	ServerError Reason = "server error"
	// WentBack: the resource version of the API server went back. All objects are being listed again.
	WentBack Reason = "rewound"
)

// TableStatus is the status of a table, or of all tables of a resource, at one moment.
type TableStatus struct {
	// Kind is the Name of the table's [Kind]. Resource is the API resource.
	Kind     string
	Resource schema.GroupResource
	// State is Synced if all namespaces are, and Waiting if one of them is.
	State State
	// Reason and Detail say why the table is waiting; they are empty otherwise. With several namespaces they
	// are those of the first waiting one, which Detail names.
	Reason Reason
	Detail string
	// Objects is the number of objects in the table.
	Objects int
	// Required is false if the kind is optional.
	Required bool
	// Filled is true once the table has held all objects of its kind. It never becomes false again.
	Filled bool
	// LastContact is when the API server last sent anything for this table.
	LastContact time.Time
	// Stale is how long the table may have missed changes of any namespace; zero while it follows them.
	Stale time.Duration
	// Namespaces are the statuses of namespaces that are watched separately, in the order of [Options]; nil
	// for one namespace, or all.
	Namespaces []NamespaceStatus
}

// NamespaceStatus is the status of the objects of one namespace.
type NamespaceStatus struct {
	Namespace string
	// The other fields are as in [TableStatus].
	State  State
	Reason Reason
	Detail string
	Filled bool
	Stale  time.Duration
}

// missing reports whether the kind is optional and the cluster lacks or forbids it.
func (s TableStatus) missing() bool {
	if s.Required || s.State != Waiting {
		return false
	}
	switch s.Reason {
	case NotFound, OtherVersion:
		return true
	default:
		return s.Reason.refused()
	}
}

// refused reports whether the API server responded that a right is missing.
func (r Reason) refused() bool { return r == Forbidden || r == DiscoveryForbidden }

// Absent reports whether the table is empty because the cluster lacks the kind. Otherwise a table that isn't
// filled says nothing about the objects.
func (s TableStatus) Absent() bool { return !s.Filled && s.State == Waiting && s.Reason == NotFound }

// settled reports whether the table was filled or its kind is missing, so that nobody need wait for
// it. A refusal says so only if it is confirmed.
func (s TableStatus) settled(confirmed bool) bool {
	return s.Filled || s.missing() && (confirmed || !s.Reason.refused())
}

// state is the status of the tables of one feed. The source, the store and the feed record events in it.
//
// A watch is filling while it streams the existing objects, and following afterwards.
type state struct {
	now func() time.Time
	// changed is called after each change of State or Reason, without the lock.
	changed func()
	// lastContact returns when the API server last sent anything, for any table.
	lastContact func() time.Time

	mu       sync.Mutex
	state    State
	reason   Reason
	detail   string
	filled   bool
	failures uint64
	// crdTerminating is true while the CRD of the kind is being removed.
	crdTerminating bool
	// watch is the number of the newest watch. open is true while it streams, and filling until the existing
	// objects have arrived.
	watch         int
	open, filling bool
	// fresh is when the table was last known to be up to date. It isn't used while a watch is following.
	fresh   time.Time
	contact time.Time
	// bookmarks is true once the API server has sent a bookmark. Without them, silence means nothing.
	bookmarks bool
}

func newState(now func() time.Time) *state {
	return &state{now: now, changed: func() {}, lastContact: func() time.Time { return time.Time{} }, state: Connecting, fresh: now()}
}

// startFilling records that a watch is open which starts with the existing objects. It returns the number of
// the watch.
func (s *state) startFilling() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filling = true
	return s.opened()
}

// startFollowing records that a watch is open which sends the changes since the version of the table. It
// returns the number of the watch.
func (s *state) startFollowing() int {
	defer s.update(Synced, "", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filling = false
	return s.opened()
}

// opened records another open watch. The caller holds the lock.
func (s *state) opened() int {
	s.watch++
	s.open, s.contact = true, s.now()
	return s.watch
}

// following reports whether a watch is open that has sent the existing objects.
func (s *state) following() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open && !s.filling
}

// received records that the API server has sent something.
func (s *state) received() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contact = s.now()
}

// bookmarked records that the API server has sent a bookmark.
func (s *state) bookmarked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bookmarks = true
}

// replaced records that the table holds all existing objects.
func (s *state) replaced() {
	defer s.update(Synced, "", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filled, s.filling = true, false
	s.fresh, s.contact = s.now(), s.now()
}

// ended records that a watch has ended, and why. If the API server hung, the lost connection is noticed only
// after a while, in which changes may have been missed.
func (s *state) ended(watch int, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if watch != s.watch || !s.open {
		return
	}
	switch {
	case s.filling:
	case connectionLost(why):
		s.fresh = s.contact
		if heard := s.lastContact(); heard.After(s.fresh) {
			s.fresh = heard
		}
	default:
		s.fresh = s.now().Add(-s.silence())
	}
	s.open = false
}

// failed records a failed attempt to list or watch. A requested version that is too old or too new is no
// failure, because the next attempt requests another one. A rewind is none either.
func (s *state) failed(err error) {
	if outdated(err) || errors.Is(err, errRewound) {
		return
	}
	s.mu.Lock()
	s.failures++
	s.mu.Unlock()
	s.update(Waiting, reasonOf(err), ExplainRequest(err).Error())
}

// rewound records that the table was filled from a history that is no longer the API server's.
func (s *state) rewound() {
	s.mu.Lock()
	synced := s.state == Synced
	s.mu.Unlock()
	if synced {
		s.update(Waiting, WentBack, "the resource version of the API server went back: the objects are listed again")
	}
}

func (s *state) update(to State, why Reason, detail string) {
	s.mu.Lock()
	was, wasFor := s.state, s.reason
	s.state, s.reason, s.detail = to, why, detail
	s.mu.Unlock()
	if was != to || wasFor != why {
		s.changed()
	}
}

// setTerminating records whether the CRD of the kind is being removed.
func (s *state) setTerminating(now bool) {
	s.mu.Lock()
	was := s.crdTerminating
	s.crdTerminating = now
	shown := s.state == Synced
	s.mu.Unlock()
	if was != now && shown {
		s.changed()
	}
}

// isTerminating reports whether the CRD of the kind is known to be being removed.
func (s *state) isTerminating() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crdTerminating
}

// silence returns how long an open watch has been silent, if that is too long; else zero.
func (s *state) silence() time.Duration {
	if quiet := s.now().Sub(s.contact); s.bookmarks && quiet > idleLimit {
		return quiet
	}
	return 0
}

// stale returns how long the table may have missed changes.
func (s *state) stale() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open && !s.filling {
		return s.silence()
	}
	return s.now().Sub(s.fresh)
}

// failureCount returns the number of failed attempts.
func (s *state) failureCount() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}

// status returns the part of a TableStatus that the state knows.
func (s *state) status() TableStatus {
	stale := s.stale()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := TableStatus{
		State: s.state, Reason: s.reason, Detail: s.detail,
		Filled: s.filled, LastContact: s.contact, Stale: stale,
	}
	if s.state == Synced && s.crdTerminating {
		t.State, t.Reason, t.Detail = Waiting, Terminating, "the CustomResourceDefinition is being removed: complete that, or install it again afterwards"
	}
	return t
}

// connectionLost reports whether a watch failed because the API server no longer answered pings. net/http has
// no error value for that.
func connectionLost(err error) bool {
	return err != nil && strings.Contains(err.Error(), "client connection lost")
}

func reasonOf(err error) Reason {
	status, known := apierrors.APIStatus(nil), (*unreadable)(nil)
	switch {
	case errors.As(err, &known):
		return known.reason
	case !errors.As(err, &status):
		return Unreachable
	case apierrors.IsNotFound(err):
		return NotFound
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	default:
		return ServerError
	}
}

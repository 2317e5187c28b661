package workload

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// simulation is the state of the cluster and the zone after the edits so far. Future events are functions on
// the agenda, ordered by time. Each checks the state when it is due, and makes edits or none.
type simulation struct {
	settings Settings
	rng      *rand.Rand
	now      time.Duration
	agenda   agenda
	sequence int
	ticks    int // number of ticks on the agenda, which make no edits
	grace    int // number of initial follow-up edits, which don't count for the rate
	made     []Edit
	number   int
	phase    string // separates the numbers of the initial edits from the later ones

	objects map[string]Object   // by name()
	pods    map[string][]string // names of the pods of an app that are not being deleted
	serial  map[string]int      // number of pods that an app has had
	// address counts the assigned addresses; freed are those of deleted pods.
	address uint32
	freed   []freed
	records map[string]ZoneEdit // of the person, by name and type
}

// freed is the address of a deleted pod.
type freed struct {
	address string
	at      time.Duration
	edit    int
}

func newSimulation(s Settings) *simulation {
	return &simulation{
		settings: s, rng: rand.New(rand.NewPCG(s.Seed, 0x1ab)),
		objects: map[string]Object{}, pods: map[string][]string{}, serial: map[string]int{}, records: map[string]ZoneEdit{}, phase: "beginning-",
	}
}

// beginning creates the initial objects, and puts the follow-up on the agenda.
func (s *simulation) beginning() []Edit {
	for i := range Nodes {
		node := newNode(i)
		s.create(node)
		s.setStatus(node, "/status/conditions", "/status/addresses")
	}
	s.beginWeb()
	s.beginNames()
	s.beginUnmanaged()
	s.beginMesh()
	s.beginPerson()
	s.grace, s.phase = len(s.agenda), ""
	s.tickAfter(0)
	initial := s.made
	s.number = 0
	return initial
}

// appointment is an event on the agenda.
type appointment struct {
	at       time.Duration
	sequence int // orders the appointments of the same time
	do       func()
}

type agenda []appointment

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].sequence < a[j].sequence
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// after puts an event on the agenda.
func (s *simulation) after(wait time.Duration, do func()) {
	s.sequence++
	heap.Push(&s.agenda, appointment{s.now + wait, s.sequence, do})
}

// next runs the next event, and returns its edits.
func (s *simulation) next() []Edit {
	first := heap.Pop(&s.agenda).(appointment)
	s.now = first.at
	s.made = nil
	first.do()
	return s.made
}

// tick starts actions while fewer edits were made, or are on the agenda, than the rate requires. It starts
// some at once, so that there are bursts and pauses.
func (s *simulation) tick() {
	s.ticks--
	ahead := float64(s.number+len(s.agenda)-s.ticks-s.grace)/s.settings.Rate - s.now.Seconds()
	if ahead > 0 {
		s.tickAfter(time.Duration(ahead*float64(time.Second)).Truncate(time.Millisecond) + time.Millisecond)
		return
	}
	for range pick(s, 1, 1, 1, 2, 4, 10) {
		s.after(s.between(0, 600*time.Millisecond), s.action())
	}
	s.tickAfter(s.between(50*time.Millisecond, 500*time.Millisecond))
}

func (s *simulation) tickAfter(wait time.Duration) {
	s.ticks++
	s.after(wait, s.tick)
}

// action chooses a random action.
func (s *simulation) action() func() {
	all := s.actions()
	sum := 0
	for _, a := range all {
		sum += a.weight
	}
	n := s.rng.IntN(sum)
	for _, a := range all {
		if n -= a.weight; n < 0 {
			return a.do
		}
	}
	panic("workload: the weights don't add up")
}

// weighted is an action with its relative frequency.
type weighted struct {
	weight int
	do     func()
}

func (s *simulation) actions() []weighted {
	return slices.Concat(s.webActions(), s.nameActions(), s.unmanagedActions(), s.meshActions(), s.personActions())
}

// between returns a random time of at least low and less than high, in milliseconds.
func (s *simulation) between(low, high time.Duration) time.Duration {
	return low + time.Duration(s.rng.Int64N(int64((high-low)/time.Millisecond)))*time.Millisecond
}

// chance is true with this probability in percent.
func (s *simulation) chance(percent int) bool { return s.rng.IntN(100) < percent }

func pick[T any](s *simulation, all ...T) T { return all[s.rng.IntN(len(all))] }

// find returns the object of a kind and name, or nil.
func find[T Object](s *simulation, name string) (found T) {
	found, _ = s.objects[name].(T)
	return found
}

// has reports whether an object exists and isn't terminating.
func (s *simulation) has(name string) bool {
	o, ok := s.objects[name]
	return ok && o.GetDeletionTimestamp() == nil
}

// emit adds an edit with the current object.
func (s *simulation) emit(e Edit) int {
	s.number++
	e.Number, e.At = s.number, s.now
	if e.Object != nil {
		e.Object = e.Object.DeepCopyObject().(Object)
	}
	s.made = append(s.made, e)
	return e.Number
}

func (s *simulation) create(o Object) {
	s.objects[name(o)] = o
	annotate(o, createdBy, fmt.Sprint(s.phase, s.number+1))
	s.emit(Edit{Verb: Create, Object: o})
}

func (s *simulation) set(o Object, fields ...string) {
	s.emit(Edit{Verb: Set, Object: o, Fields: fields})
}

func (s *simulation) setStatus(o Object, fields ...string) {
	s.emit(Edit{Verb: SetStatus, Object: o, Fields: fields})
}

// remove deletes an object without finalizer, so that it is gone at once.
func (s *simulation) remove(o Object) int {
	delete(s.objects, name(o))
	return s.emit(Edit{Verb: Delete, Object: o, Gone: true})
}

// terminate deletes an object that stays, because of a grace period or a finalizer.
func (s *simulation) terminate(o Object, grace int64) {
	now := metav1.NewTime(stamp(s.now))
	o.SetDeletionTimestamp(&now)
	s.emit(Edit{Verb: Delete, Object: o, Grace: grace})
}

// finish removes the finalizers of a terminating object, so that it is gone.
func (s *simulation) finish(o Object) int {
	delete(s.objects, name(o))
	o.SetFinalizers(nil)
	return s.emit(Edit{Verb: Set, Object: o, Fields: []string{"/metadata/finalizers"}, Gone: true})
}

// annotate sets an annotation, or removes it if the value is empty.
func annotate(o Object, key, value string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	o.SetAnnotations(annotations)
}

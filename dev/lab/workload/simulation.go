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

// simulation is the cluster and the zone as the edits leave them. Things that are going to happen are functions in
// the order of their times. Each looks at what is there when its time has come, and makes edits or none.
type simulation struct {
	settings Settings
	rng      *rand.Rand
	now      time.Duration
	agenda   agenda
	sequence int
	ticks    int // how many entries of the agenda make no edit
	grace    int // how many edits follow from the beginning, which the rate doesn't count
	made     []Edit
	number   int
	phase    string // tells the numbers of the beginning from those that follow

	objects map[string]Object   // by name()
	pods    map[string][]string // names of the pods of an app that nobody has begun to delete
	serial  map[string]int      // how many pods an app has had
	// address counts the addresses that were given; freed are those of deleted pods.
	address uint32
	freed   []freed
	records map[string]ZoneEdit // the person's, by name and type
}

// freed is the address of a pod that was deleted by an edit.
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

// beginning makes what is there at the start, and puts what follows on the agenda.
func (s *simulation) beginning() []Edit {
	for i := range Nodes {
		node := newNode(i)
		s.create(node)
		s.setStatus(node, "/status/conditions", "/status/addresses")
	}
	s.beginWeb()
	s.beginNames()
	s.beginForeign()
	s.beginMesh()
	s.beginPerson()
	s.grace, s.phase = len(s.agenda), ""
	s.tickAfter(0)
	initial := s.made
	s.number = 0
	return initial
}

// appointment is something that happens at a time.
type appointment struct {
	at       time.Duration
	sequence int // among those of the same time
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

// after puts something on the agenda.
func (s *simulation) after(wait time.Duration, do func()) {
	s.sequence++
	heap.Push(&s.agenda, appointment{s.now + wait, s.sequence, do})
}

// next lets the time go on to the next appointment, and returns the edits that it makes.
func (s *simulation) next() []Edit {
	first := heap.Pop(&s.agenda).(appointment)
	s.now = first.at
	s.made = nil
	first.do()
	return s.made
}

// tick begins new things whenever fewer edits were made, or are on the agenda, than the rate asks for. It begins some
// at once, so that there are bursts, and the pauses that make up for them.
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

// action chooses what happens.
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

// weighted is something that happens as often as its weight says, compared with the others.
type weighted struct {
	weight int
	do     func()
}

func (s *simulation) actions() []weighted {
	return slices.Concat(s.webActions(), s.nameActions(), s.foreignActions(), s.meshActions(), s.personActions())
}

// between returns a time of at least low and less than high, in milliseconds.
func (s *simulation) between(low, high time.Duration) time.Duration {
	return low + time.Duration(s.rng.Int64N(int64((high-low)/time.Millisecond)))*time.Millisecond
}

// chance is true in that many of a hundred cases.
func (s *simulation) chance(percent int) bool { return s.rng.IntN(100) < percent }

func pick[T any](s *simulation, all ...T) T { return all[s.rng.IntN(len(all))] }

// find returns the object of a kind and name; nil if there is none.
func find[T Object](s *simulation, name string) (found T) {
	found, _ = s.objects[name].(T)
	return found
}

// has reports whether there is an object, and it isn't terminating.
func (s *simulation) has(name string) bool {
	o, ok := s.objects[name]
	return ok && o.GetDeletionTimestamp() == nil
}

// emit makes an edit of the object as it is now.
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

// remove deletes an object that has no finalizer, so that it is gone.
func (s *simulation) remove(o Object) int {
	delete(s.objects, name(o))
	return s.emit(Edit{Verb: Delete, Object: o, Gone: true})
}

// terminate deletes an object that stays, because of a grace period or of a finalizer.
func (s *simulation) terminate(o Object, grace int64) {
	now := metav1.NewTime(stamp(s.now))
	o.SetDeletionTimestamp(&now)
	s.emit(Edit{Verb: Delete, Object: o, Grace: grace})
}

// finish takes the finalizers from an object that is terminating, so that it is gone.
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

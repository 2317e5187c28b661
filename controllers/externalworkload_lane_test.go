package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/api/workload"
)

// idleTimeout bounds the time until streams and slices show all writes.
const idleTimeout = 30 * time.Second

// machineLane is a Service with a few workloads, which one goroutine writes.
type machineLane struct {
	service  machineService
	client   dynamic.ResourceInterface // for the workloads
	random   *rand.Rand
	machines []*laneMachine

	loops, writes, rests, shown int
	// sameSlices is true from an idle state until a write to a workload that must change slices.
	sameSlices   bool
	writesAtIdle int

	mu          sync.Mutex
	changed     chan struct{} // closed at the next event
	err         error         // the first
	streams     []*machineStream
	slices      map[string]*discoveryv1.EndpointSlice
	sliceWrites int
}

// laneMachine is the name of a workload, with a sequence of objects of that name.
type laneMachine struct {
	name            string
	lives           int
	steps           []machineStep // to come, of the current life
	window          []*machineVersion
	resourceVersion string
}

// machineStep is a step in the life of a workload.
type machineStep struct {
	do func(ctx context.Context) error
	// idle makes the lane wait after the step until streams and slices show it. Otherwise the lane waits at
	// random.
	idle bool
}

func (m *laneMachine) last() *machineVersion {
	if len(m.window) == 0 {
		return nil
	}
	return m.window[len(m.window)-1]
}

// note calls happens with the lock held, and wakes the lane.
func (l *machineLane) note(happens func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := happens(); err != nil && l.err == nil {
		l.err = fmt.Errorf("%w\n%s", err, l.history())
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// history returns the versions that streams and slices may still show, as text.
func (l *machineLane) history() string {
	var text strings.Builder
	for _, m := range l.machines {
		for _, v := range m.window {
			line, _ := json.Marshal(v)
			fmt.Fprintf(&text, "%s, life %d, gone %v: %s\n", m.name, v.life, v.gone, line)
		}
	}
	return text.String()
}

// run takes workloads through their lives until more returns false, or an error occurs.
func (l *machineLane) run(ctx context.Context, more func() bool) error {
	for {
		var busy []*laneMachine
		for _, m := range l.machines {
			if len(m.steps) == 0 && more() {
				m.steps = l.life(m)
			}
			if len(m.steps) > 0 {
				busy = append(busy, m)
			}
		}
		if len(busy) == 0 {
			return l.awaitIdle(ctx)
		}
		idle, err := l.step(ctx, busy[l.random.IntN(len(busy))], more)
		if err == nil && (idle || l.random.IntN(3) == 0) {
			err = l.awaitIdle(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// step takes the next step of a life, and reports whether the lane must wait afterwards. After the last step,
// the next life may start at once.
func (l *machineLane) step(ctx context.Context, m *laneMachine, more func() bool) (idle bool, err error) {
	step := m.steps[0]
	m.steps = m.steps[1:]
	if err := step.do(ctx); err != nil {
		return false, fmt.Errorf("workload %s: %w", m.name, err)
	}
	if len(m.steps) > 0 {
		return step.idle, nil
	}
	l.loops++
	if step.idle || !more() {
		return step.idle, nil
	}
	m.steps = l.life(m)
	return l.step(ctx, m, more)
}

// awaitIdle waits until streams and slices show all writes.
func (l *machineLane) awaitIdle(ctx context.Context) error {
	late := time.NewTimer(idleTimeout)
	defer late.Stop()
	for {
		l.mu.Lock()
		err, changed, diff := l.err, l.changed, ""
		if err == nil {
			if diff = l.differs(); diff == "" {
				err = l.checkIdle()
			}
		}
		history := l.history
		l.mu.Unlock()
		if err != nil || diff == "" {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			l.mu.Lock()
			defer l.mu.Unlock()
			return fmt.Errorf("not within %v: %s\n%s", idleTimeout, diff, history())
		}
	}
}

// checkIdle returns an error if slices were written without a reason.
func (l *machineLane) checkIdle() error {
	l.rests++
	for _, s := range l.streams {
		l.shown += len(s.state)
	}
	quiet, writes := l.settle(), l.sliceWrites
	if l.sameSlices && writes != l.writesAtIdle {
		return fmt.Errorf("%d needless writes of slices since the lane was idle\n%s", writes-l.writesAtIdle, l.history())
	}
	l.sameSlices, l.writesAtIdle = quiet, writes
	return nil
}

// life returns the steps of a workload from its creation to its deletion.
func (l *machineLane) life(m *laneMachine) []machineStep {
	r := l.random
	app := l.service.Spec.Selector["app"]
	always := func(do func(context.Context) error) machineStep { return machineStep{do: do, idle: true} }
	steps := []machineStep{
		{do: func(ctx context.Context) error { return l.create(ctx, m, l.born(m)) }},
		always(l.become(m, true)),
	}
	fields := append([]func(*machineVersion, *rand.Rand){}, machineFields...)
	fields = append(fields, func(v *machineVersion, _ *rand.Rand) { unselect(v) })
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for len(fields) > 0 {
		n := min(len(fields), []int{1, 1, 2, 3, 5, 8, 13}[r.IntN(7)])
		some := fields[:n]
		fields = fields[n:]
		steps = append(steps, machineStep{do: func(ctx context.Context) error {
			return l.update(ctx, m, func(v *machineVersion) {
				for _, change := range some {
					change(v, r)
				}
			})
		}})
	}
	if r.IntN(2) == 0 {
		steps = append(steps, machineStep{do: l.become(m, true)})
	}
	mended := func(ctx context.Context) error {
		return l.update(ctx, m, func(v *machineVersion) { v.fix(app, r) })
	}
	steps = append(steps, always(mended), always(l.become(m, false)))
	if r.IntN(4) == 0 {
		steps = append(steps, machineStep{do: func(ctx context.Context) error {
			return l.update(ctx, m, func(v *machineVersion) { machineFields[r.IntN(len(machineFields))](v, r) })
		}})
	}
	if r.IntN(4) > 0 {
		steps = append(steps, always(l.become(m, true)))
	}
	return append(steps, machineStep{do: func(ctx context.Context) error { return l.remove(ctx, m) }, idle: r.IntN(3) == 0})
}

// born returns the workload of the next life, which may equal the last one.
func (l *machineLane) born(m *laneMachine) *machineVersion {
	old := m.last()
	if old == nil || l.random.IntN(3) > 0 {
		return newMachine(m.name, l.service.Spec.Selector["app"], l.random)
	}
	v := old.clone()
	v.gone, v.UID, v.CreationTimestamp, v.Status = false, "", metav1.Time{}, workload.ExternalWorkloadStatus{}
	return v
}

// write appends a version, sends it, and takes the fields that the API server sets from the response.
func (l *machineLane) write(m *laneMachine, v *machineVersion, send func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	sent := v.clone()
	sent.ResourceVersion = m.resourceVersion
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&sent.ExternalWorkload)
	if err != nil {
		return err
	}
	l.writes++
	l.mu.Lock()
	if old := m.last(); old == nil || fmt.Sprint(l.service.sliced(old)) != fmt.Sprint(l.service.sliced(v)) {
		l.sameSlices = false
	}
	m.window = append(m.window, v)
	for _, s := range l.streams {
		s.window[m] = append(s.window[m], v)
	}
	l.mu.Unlock()
	got, err := send(&unstructured.Unstructured{Object: content})
	if err != nil {
		return err
	}
	if got != nil {
		m.resourceVersion = got.GetResourceVersion()
		l.mu.Lock()
		v.UID, v.CreationTimestamp = got.GetUID(), got.GetCreationTimestamp()
		l.mu.Unlock()
	}
	return nil
}

func (l *machineLane) create(ctx context.Context, m *laneMachine, v *machineVersion) error {
	m.lives++
	v.life, m.resourceVersion = m.lives, ""
	return l.write(m, v, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return l.client.Create(ctx, o, metav1.CreateOptions{})
	})
}

func (l *machineLane) update(ctx context.Context, m *laneMachine, change func(*machineVersion)) error {
	v := m.last().clone()
	change(v)
	return l.write(m, v, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return l.client.Update(ctx, o, metav1.UpdateOptions{})
	})
}

// become makes a workload ready or unready.
func (l *machineLane) become(m *laneMachine, ready bool) func(context.Context) error {
	return func(ctx context.Context) error {
		v := m.last().clone()
		v.Status.Conditions = conditions(ready, l.random)
		return l.write(m, v, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return l.client.UpdateStatus(ctx, o, metav1.UpdateOptions{})
		})
	}
}

// remove deletes a workload. With a finalizer, the workload stays unchanged until the finalizer is removed.
func (l *machineLane) remove(ctx context.Context, m *laneMachine) error {
	v := m.last().clone()
	remove := func() error { return l.client.Delete(ctx, m.name, metav1.DeleteOptions{}) }
	if len(v.Finalizers) > 0 {
		if err := remove(); err != nil {
			return err
		}
		if err := l.awaitIdle(ctx); err != nil {
			return err
		}
		remove = func() error {
			_, err := l.client.Patch(ctx, m.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		}
	}
	v.gone = true
	return l.write(m, v, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, remove() })
}

package main

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// stepsPerSequence is how many steps are played in one namespace.
const stepsPerSequence = 25

// step is what happens between two comparisons, in order.
type step []operation

// only returns the steps with the operations that are wanted.
func only(steps []step, wanted func(operation) bool) []step {
	rest := make([]step, len(steps))
	for i, s := range steps {
		rest[i] = slices.DeleteFunc(slices.Clone(s), func(o operation) bool { return !wanted(o) })
	}
	return rest
}

// drawSequence draws the steps of a seed. The same seed always gives the same steps.
func drawSequence(seed uint64, steps int) []step {
	d := &drawer{
		painter: painter{rand.New(rand.NewPCG(seed, 7))}, pods: map[string]drawnPod{}, selects: map[string]bool{},
	}
	sequence := make([]step, steps)
	for i := range sequence {
		// A node is gone until the next step, so that the pod garbage collector doesn't delete its pods.
		if !d.hasNode {
			d.hasNode = true
			sequence[i] = step{createNode{zone: d.zone()}}
		}
		for range 1 + d.IntN(4) {
			sequence[i] = append(sequence[i], d.drawSomething()...)
		}
	}
	return sequence
}

// drawer remembers what it has drawn, so that most operations find something to do. What really
// exists may differ, because the API server refuses some of it; operations cope with that.
type drawer struct {
	painter
	pods    map[string]drawnPod
	selects map[string]bool // whether the Service has a selector
	hasNode bool            // whether the own node exists
}

// drawnPod is what is known of a pod that has been drawn.
type drawnPod struct {
	// held pods have a finalizer.
	held bool
	// ended pods never run again.
	ended bool
}

// drawSomething draws until something is possible.
func (d *drawer) drawSomething() []operation {
	for {
		if drawn := d.draw(); len(drawn) > 0 {
			return drawn
		}
	}
}

// draw draws something that happens; nothing if that isn't possible now.
func (d *drawer) draw() []operation {
	switch n := d.IntN(44); {
	case n < 10:
		return d.putService()
	case n < 12:
		return d.deleteService()
	case n < 22:
		return d.putPod()
	case n < 30:
		return d.onSomePod(d.setStatus)
	case n < 32:
		return d.onSomePod(d.deletePod)
	case n < 34:
		return d.onSomePod(func(name string) operation { return relabel{onPod{name}, d.podLabels()} })
	case n < 38:
		return d.byHand()
	case n < 40:
		return d.handOver()
	case n < 42:
		return d.deleteNode()
	default:
		return d.deleteOutputs()
	}
}

func (d *drawer) putService() []operation {
	name := d.serviceName()
	service := d.service(name)
	d.selects[name] = service.Spec.Selector != nil
	return []operation{putService{onService{name}, service, d.oneIn(4), d.oneIn(12)}}
}

// existingService draws the name of a Service, or returns false.
func (d *drawer) existingService() (string, bool) {
	name := d.serviceName()
	_, ok := d.selects[name]
	return name, ok
}

func (d *drawer) deleteService() []operation {
	name, ok := d.existingService()
	if !ok {
		return nil
	}
	delete(d.selects, name)
	return []operation{deleteService{onService{name}}}
}

func (d *drawer) putPod() []operation {
	name := d.podName()
	if _, exists := d.pods[name]; exists {
		return nil
	}
	pod := d.pod(name)
	status := d.podStatus()
	d.pods[name] = drawnPod{held: len(pod.Finalizers) > 0, ended: isEnded(status.Phase)}
	return []operation{putPod{onPod{name}, pod, status}}
}

func (d *drawer) onSomePod(do func(name string) operation) []operation {
	name := d.podName()
	if _, exists := d.pods[name]; !exists {
		return nil
	}
	return []operation{do(name)}
}

// setStatus gives a pod another status. A pod that has ended stays so.
func (d *drawer) setStatus(name string) operation {
	status := d.podStatus()
	pod := d.pods[name]
	if pod.ended && !isEnded(status.Phase) {
		status.Phase = corev1.PodFailed
	}
	pod.ended = isEnded(status.Phase)
	d.pods[name] = pod
	return setStatus{onPod{name}, status}
}

func isEnded(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

// deletePod deletes a pod. A pod that is held stays, and is released some time.
func (d *drawer) deletePod(name string) operation {
	pod := d.pods[name]
	if pod.held && d.oneIn(2) {
		pod.held = false
		d.pods[name] = pod
		return releasePod{onPod{name}}
	}
	if !pod.held {
		delete(d.pods, name)
	}
	return deletePod{onPod{name}}
}

func (d *drawer) deleteNode() []operation {
	if !d.hasNode {
		return nil
	}
	d.hasNode = false
	return []operation{deleteNode{}}
}

// byHand writes or deletes the Endpoints of a Service without a selector.
func (d *drawer) byHand() []operation {
	name, ok := d.existingService()
	if !ok || d.selects[name] {
		return nil
	}
	if d.oneIn(5) {
		return []operation{deleteEndpoints{onService{name}}}
	}
	return []operation{writeEndpoints{onService{name}, d.endpoints(name)}}
}

// handOver makes people take over the Endpoints of a Service that had a selector.
func (d *drawer) handOver() []operation {
	name, ok := d.existingService()
	if !ok || !d.selects[name] {
		return nil
	}
	d.selects[name] = false
	return []operation{handOver{onService{name}, d.endpoints(name)}}
}

// deleteOutputs deletes what controllers wrote.
func (d *drawer) deleteOutputs() []operation {
	name, ok := d.existingService()
	if !ok {
		return nil
	}
	if d.oneIn(2) {
		return []operation{deleteEndpoints{onService{name}}}
	}
	return []operation{deleteSlices{onService{name}}}
}

package leader

import (
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// HandedOverAnnotation is the annotation of a Lease that was released, with what its last holder has left for the next one.
// Its value begins with the number of transitions of the Lease, because a holder that doesn't know the annotation keeps it.
const HandedOverAnnotation = "signpost.dev/handed-over"

// maxHandedOver is the most bytes that are handed over: the rest of the Lease needs room, too.
const maxHandedOver = 16 << 10

// handover is what one holder of a Lease leaves for the next one.
type handover struct {
	// leaves is what this process leaves when it releases the Lease; nil for nothing.
	leaves atomic.Pointer[string]
	// found is what was found in the Lease; nil if that isn't for this process.
	found atomic.Pointer[found]
}

// found is what the holder has left that released a Lease after so many transitions.
type found struct {
	transitions int32
	text        string
}

// HandOver has a text left for the next leader if this process releases the Lease. It is to be called by the work, at its
// end. A text that is too long is not left.
func (e *Elector) HandOver(text string) {
	if len(text) <= maxHandedOver {
		e.handover.leaves.Store(&text)
	}
}

// HandedOver returns what the former leader has left for this process, which has acquired the Lease from it, without anybody
// in between. It is empty if there is nothing.
func (e *Elector) HandedOver() string {
	if f := e.handover.found.Load(); f != nil {
		return f.text
	}
	return ""
}

// annotated returns a Lease with what is left in it, which is to be written.
func (h *handover) annotated(lease *coordinationv1.Lease) *coordinationv1.Lease {
	text := h.leaves.Load()
	leaves := isFree(lease) && text != nil
	if _, has := lease.Annotations[HandedOverAnnotation]; !has && !leaves {
		return lease
	}
	lease = lease.DeepCopy()
	lease.Annotations = maps.Clone(lease.Annotations)
	delete(lease.Annotations, HandedOverAnnotation)
	if leaves {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[HandedOverAnnotation] = strconv.Itoa(int(transitions(lease))) + " " + *text
	}
	return lease
}

// note notes what a Lease says that was read or written. What was left stays known while the process has the Lease that has
// acquired it.
func (h *handover) note(lease *coordinationv1.Lease, identity string) {
	f := h.found.Load()
	switch n := transitions(lease); {
	case isFree(lease):
		text, ok := strings.CutPrefix(lease.Annotations[HandedOverAnnotation], strconv.Itoa(int(n))+" ")
		if ok && len(text) <= maxHandedOver {
			h.found.Store(&found{n, text})
			return
		}
	case f != nil && *lease.Spec.HolderIdentity == identity && n == f.transitions+1:
		return
	}
	h.found.Store(nil)
}

func isFree(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == ""
}

func transitions(lease *coordinationv1.Lease) int32 {
	if lease.Spec.LeaseTransitions == nil {
		return 0
	}
	return *lease.Spec.LeaseTransitions
}

package leader

import (
	"strconv"
	"strings"
	"sync/atomic"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// HandedOverAnnotation is the annotation of a released Lease with the text of its last holder for the next
// one. Its value starts with the number of transitions of the Lease, because a holder that doesn't know the
// annotation keeps it.
const HandedOverAnnotation = "signpost.dev/handed-over"

// maxHandedOver bounds the text that is handed over, because the rest of the Lease needs room, too.
const maxHandedOver = 16 << 10

// handover has the texts that holders of a Lease pass to the next holder.
type handover struct {
	// outgoing is the text that this process writes when it releases the Lease; nil for none.
	outgoing atomic.Pointer[string]
	// incoming is the text in the Lease; nil if it isn't for this process.
	incoming atomic.Pointer[handedOver]
}

// handedOver is the text of the holder that released a Lease after this number of transitions.
type handedOver struct {
	transitions int32
	text        string
}

// HandOver passes a text to the next leader if this process releases the Lease. The work calls it at its end.
// A text that is too long is dropped.
func (e *Elector) HandOver(text string) {
	if len(text) <= maxHandedOver {
		e.handover.outgoing.Store(&text)
	}
}

// HandedOver returns the text of the former leader, if this process acquired the Lease directly from it, and
// for this term; otherwise "".
func (e *Elector) HandedOver() string {
	if f := e.handover.incoming.Load(); f != nil {
		return f.text
	}
	return ""
}

// annotated returns the Lease to write, with the outgoing text.
func (h *handover) annotated(lease *coordinationv1.Lease) *coordinationv1.Lease {
	text := h.outgoing.Load()
	leaves := isFree(lease) && text != nil
	if _, has := lease.Annotations[HandedOverAnnotation]; !has && !leaves {
		return lease
	}
	lease = lease.DeepCopy()
	delete(lease.Annotations, HandedOverAnnotation)
	if leaves {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[HandedOverAnnotation] = strconv.Itoa(int(transitions(lease))) + " " + *text
	}
	return lease
}

// note records the text in a Lease that was read or written. The text is kept while the process holds the
// acquired Lease.
func (h *handover) note(lease *coordinationv1.Lease, identity string) {
	f := h.incoming.Load()
	switch n := transitions(lease); {
	case isFree(lease):
		text, ok := strings.CutPrefix(lease.Annotations[HandedOverAnnotation], strconv.Itoa(int(n))+" ")
		if ok && len(text) <= maxHandedOver {
			h.incoming.Store(&handedOver{n, text})
			return
		}
	case f != nil && *lease.Spec.HolderIdentity == identity && n == f.transitions+1:
		return
	}
	h.incoming.Store(nil)
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

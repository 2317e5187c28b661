package kube

import (
	"errors"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// followBuffer is how many decoded events may be buffered. Without a buffer, each event would wake the reader
// and then the decoder.
const followBuffer = 64

// followed is a watch whose events are decoded in a goroutine of its own.
type followed struct {
	decoder watch.Decoder
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

var _ watch.Interface = (*followed)(nil)

// follow decodes events until the decoder fails or the watch is stopped. A failure other than the end of the
// stream becomes the last event.
func follow(d watch.Decoder) watch.Interface {
	f := &followed{decoder: d, events: make(chan watch.Event, followBuffer), stopped: make(chan struct{})}
	f.stop = sync.OnceFunc(func() {
		close(f.stopped)
		d.Close()
	})
	go f.run()
	return f
}

// ResultChan implements watch.Interface.
func (f *followed) ResultChan() <-chan watch.Event { return f.events }

// Stop implements watch.Interface.
func (f *followed) Stop() { f.stop() }

func (f *followed) run() {
	defer close(f.events)
	defer f.stop()
	for {
		kind, object, err := f.decoder.Decode()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		event := watch.Event{Type: kind, Object: object}
		if err != nil {
			event = watch.Event{Type: watch.Error, Object: undecodable.AsObject(err)}
		}
		if !f.send(event) {
			return
		}
		if err != nil {
			return
		}
	}
}

// send delivers an event. It returns false once the watch is stopped. The buffer usually has room, and trying
// that first costs a third of a select over two channels.
func (f *followed) send(event watch.Event) bool {
	select {
	case <-f.stopped:
		return false
	default:
	}
	select {
	case f.events <- event:
		return true
	default:
	}
	select {
	case f.events <- event:
		return true
	case <-f.stopped:
		return false
	}
}

// undecodable turns decoding errors into statuses, as client-go does.
var undecodable = apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")

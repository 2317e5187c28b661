package process

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/xds"
)

// inspectedXDS has the streams of the xds role. It implements [inspect.StreamsOf].
type inspectedXDS struct{ server *xds.Server }

// Streams implements [inspect.StreamsOf].
func (x *inspectedXDS) Streams() []inspect.Stream {
	open := x.server.OpenStreams()
	list := make([]inspect.Stream, 0, len(open))
	for i := range open {
		list = append(list, xdsStreamOf(&open[i]))
	}
	return list
}

// CountStreams implements [inspect.StreamsOf].
func (x *inspectedXDS) CountStreams() (open, behind int) { return x.server.CountStreams(behindFor) }

// maxNames limits the displayed names of a stream or a message.
const maxNames = 5

func xdsStreamOf(o *xds.OpenStream) inspect.Stream {
	s := inspect.Stream{
		ID: "xds-" + strconv.FormatUint(o.ID, 10), Method: strings.TrimSpace("xDS " + o.Variant + " " + o.Client), Target: xdsNamesOf(o),
		Pod: o.Pod, Namespace: o.Namespace, Node: o.Node, View: "all", State: inspect.StreamSynced, Endpoints: o.Endpoints,
		Sent: o.Responses, Current: o.Responses + uint64(o.Waiting), LagSeconds: o.Lag.Seconds(), Opened: o.Opened,
	}
	if o.Zone != "" || o.Node != "" {
		s.View = "node " + o.Node + ", zone " + o.Zone
	}
	if o.Service.Name != "" {
		s.Service = o.Service.Namespace + "/" + o.Service.Name
	}
	if o.Peer.IsValid() {
		s.Peer = o.Peer.String()
	}
	if o.Waiting > 0 || o.Lag > 0 {
		s.State = inspect.StreamBehind
	}
	return s
}

// xdsNamesOf returns the names that a stream is subscribed to, with the unknown and rejected ones.
func xdsNamesOf(o *xds.OpenStream) string {
	shown := o.Names[:min(len(o.Names), maxNames)]
	text := strings.Join(shown, " ")
	if more := len(o.Names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(o.Names) == 1 && o.Names[0] == "*" {
		text += " (no Clusters: check signpost.dev/namespaces in the metadata of the node)"
	}
	if o.LeftOut > 0 {
		text += fmt.Sprintf(" (%d Clusters left out: too many)", o.LeftOut)
	}
	if len(o.Unknown) > 0 {
		text += " (unknown: " + strings.Join(o.Unknown[:min(len(o.Unknown), maxNames)], " ") + ")"
	}
	if len(o.Rejected) > 0 {
		text += " (rejected: " + strings.Join(o.Rejected[:min(len(o.Rejected), maxNames)], " ") + ")"
	}
	return text
}

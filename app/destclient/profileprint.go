package destclient

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/app/output"
)

func newProfilePrinter(o Options, w io.Writer, now func() time.Time) printer[pb.DestinationProfile] {
	if !o.Output.IsTable() {
		return profileLines{lines{out: w, now: now, format: o.Output}}
	}
	return &profilePrinter{out: w, now: now, watch: o.Watch}
}

// profilePrinter prints profiles as text. In a watch, it adds the time and the changes.
type profilePrinter struct {
	out   io.Writer
	now   func() time.Time
	watch bool
	// last is the previous profile; nil if there is none.
	last *pb.DestinationProfile
}

// restart does nothing, because a profile is also compared with that of an earlier stream.
func (p *profilePrinter) restart() {}

func (p *profilePrinter) message(m *pb.DestinationProfile) error {
	text := newProfileText(m)
	if !p.watch {
		_, err := io.WriteString(p.out, text.render(""))
		return err
	}
	_, err := io.WriteString(p.out, p.changeText(m, text))
	p.last = m
	return err
}

func (p *profilePrinter) changeText(m *pb.DestinationProfile, text profileText) string {
	at := p.now().Format(clock)
	switch {
	case p.last == nil:
		return fmt.Sprintf("%s  first profile\n%s", at, text.render("  "))
	case proto.Equal(p.last, m):
		return fmt.Sprintf("\n%s  sent again, nothing changed\n", at)
	}
	changes := output.Clean(strings.Join(profileChanges(newProfileText(p.last), text), "; "))
	return fmt.Sprintf("\n%s  %s\n%s", at, cmp.Or(changes, "~ something that isn't shown: see -o json"), text.render("  "))
}

func (p *profilePrinter) done() error { return nil }

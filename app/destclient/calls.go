package destclient

import (
	"context"
	"io"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
)

// Get prints the endpoints of an authority to out, and errors that don't end it to errOut.
func Get(ctx context.Context, o Options, out, errOut io.Writer) error {
	conn, err := o.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &call[pb.Update]{
		Options: o,
		command: "get",
		call:    pb.NewDestinationClient(conn).Get,
		printer: newGetPrinter(o, out, time.Now),
		err:     errOut,
		quiet:   100 * time.Millisecond,
		backoff: reconnectDelay,
	}
	return a.run(ctx)
}

// Profile prints the profile of an authority in the same way.
func Profile(ctx context.Context, o Options, out, errOut io.Writer) error {
	conn, err := o.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &call[pb.DestinationProfile]{
		Options: o,
		command: "profile",
		call:    pb.NewDestinationClient(conn).GetProfile,
		printer: newProfilePrinter(o, out, time.Now),
		err:     errOut,
		backoff: reconnectDelay,
	}
	return a.run(ctx)
}

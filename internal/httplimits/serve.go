package httplimits

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// maxHeaderBytes limits the headers of a request. net/http adds 4 kB.
const maxHeaderBytes = 16 << 10

// Serve serves on a listener until ctx ends, and closes the listener. Requests that are running
// then end within grace, or are cut off. The caller sets the times of the server. Serve returns an
// error if it can't serve; what names the requests in it, such as "admin requests".
func Serve(ctx context.Context, server *http.Server, what string, l net.Listener, grace time.Duration) error {
	server.MaxHeaderBytes = maxHeaderBytes
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		stop(ctx, server, grace)
	})
	err := server.Serve(limitConnections(l))
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	if !unhook() {
		<-stopped
	}
	return fmt.Errorf("serve %s on %s: %w", what, l.Addr(), err)
}

// stop waits for running requests up to a limit, then cuts them off.
func stop(ctx context.Context, server *http.Server, grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		// The remaining connections are closed, and nothing can be done about an error.
		_ = server.Close()
	}
}

// DropBody is for a handler that refuses a request and doesn't read its body. Without the deadline,
// net/http would wait for a part of the body. A request without a body gets no deadline, because
// that would end the contexts of all later requests on the connection.
func DropBody(w http.ResponseWriter, r *http.Request) {
	if r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // fails for a reader that isn't a connection's
	}
}

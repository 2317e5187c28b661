package process

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"

	"github.com/signpostd/signpost/app/admin"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/app/webui"
	"github.com/signpostd/signpost/internal/ownsocket"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube/linked"
)

// inspectionServers are the servers of the inspection API beside the admin server.
type inspectionServers struct {
	// addr is nil if the admin server has the inspection API.
	addr      net.Addr
	actors    []run.Actor
	listeners []net.Listener
}

// close closes the listeners. Their servers close them too, which is harmless.
func (i *inspectionServers) close() {
	for _, l := range i.listeners {
		_ = l.Close()
	}
}

// openInspectionServers opens the servers of the inspection API and the page: at their own address,
// or as a part of the admin server, whose config it completes; and on a socket for commands of our
// own user.
func (p *process) openInspectionServers(ctx context.Context, s serving, config *admin.Config) (opened *inspectionServers, err error) {
	inspection := p.Inspection
	if !s.options.TrustLoopback {
		inspection.Loopback = inspect.LoopbackUntrusted
	}
	inspector := inspect.New(inspection)
	handlers, err := inspectionHandlers(p, inspector)
	if err != nil {
		return nil, err
	}
	config.MayRead = inspector.MayRead
	i := &inspectionServers{actors: []run.Actor{{Name: "inspection", Run: inspector.Run}}}
	defer func() {
		if err != nil {
			i.close()
		}
	}()
	// Commands such as `signpost bundle` query one server for everything.
	all := maps.Clone(handlers)
	all["/metrics"] = inspector.Guard(admin.Metrics(s.registry))
	bare := admin.Config{
		Handlers: all, Ready: config.Ready, Reasons: config.Reasons, MayRead: config.MayRead, Log: config.Log, Panics: config.Panics,
	}
	ports := []net.Addr{config.Listener.Addr()}
	if s.options.InspectAddr == "" {
		config.Handlers = handlers
	} else {
		l, err := s.listen(ctx, settings.InspectionAddress, s.options.InspectAddr)
		if err != nil {
			return nil, err
		}
		if err := i.serve("inspection server", l, bare); err != nil {
			return nil, err
		}
		i.addr, ports = l.Addr(), append(ports, l.Addr())
	}
	bare.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return inspect.WithSameUser(ctx) }
	for _, a := range ports {
		switch l, err := listenOwnUser(ctx, a); {
		case errors.Is(err, errors.ErrUnsupported):
		case err != nil:
			s.log.Warn("Commands in the container need a token, because the socket for our own user can't be opened", "err", err)
		default:
			if err := i.serve("socket for our own user", l, bare); err != nil {
				return nil, err
			}
		}
	}
	return i, nil
}

// serve adds a server.
func (i *inspectionServers) serve(name string, l net.Listener, config admin.Config) error {
	i.listeners = append(i.listeners, l)
	config.Listener = l
	server, err := admin.NewBare(config)
	if err != nil {
		return err
	}
	i.actors = append(i.actors, run.Actor{Name: name, Run: server.Run})
	return nil
}

// listenOwnUser opens the socket that is named after the port of an address.
func listenOwnUser(ctx context.Context, a net.Addr) (net.Listener, error) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return ownsocket.Listen(ctx, tcp.Port)
}

// inspectionHandlers returns the handlers behind the guard of the inspection API, by pattern.
func inspectionHandlers(p *process, inspector *inspect.Server) (map[string]http.Handler, error) {
	handlers := inspector.Handlers()
	if p.Clusters != nil {
		handlers[linked.StatusPath] = inspector.Guard(clustersHandler(p.Clusters))
	}
	pages, err := webui.Handlers(inspector.Guard)
	if err != nil {
		return nil, err
	}
	maps.Copy(handlers, pages)
	return handlers, nil
}

// clustersHandler returns the linked clusters as JSON.
func clustersHandler(clusters func() []linked.Status) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// Encode only fails if the client is gone.
		_ = json.NewEncoder(w).Encode(clusters())
	})
}

package main

import (
	"context"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/app/destclient"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/kubectlflags"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/flaggroup"
	"github.com/signpostd/signpost/internal/logging"
	"github.com/signpostd/signpost/internal/ownsocket"
)

// client holds the flags of a command that queries running processes.
type client struct {
	kubectl *kubectlflags.Flags
	target  portforward.Target
	// local is the port that is used in a pod without a kubeconfig.
	local   int
	timeout time.Duration
	format  output.Format
}

// newClient returns the flags for a server of processes, whose port on this host is local.
func newClient(server portforward.Server, local int, timeout time.Duration) *client {
	return &client{kubectl: kubectlflags.New(), target: portforward.Target{Server: server, Selector: portforward.DefaultSelector}, local: local, timeout: timeout}
}

// flags adds the flags to those of a command. more are additional formats of this command.
func (c *client) flags(cmd *cobra.Command, more ...string) {
	flags := cmd.Flags()
	flags.StringVar(&c.target.Addr, "addr", "", "`HOST:PORT` of the "+string(c.target.Server)+" server of one process; without it all pods are found and asked")
	flags.StringVarP(&c.target.Selector, "selector", "l", c.target.Selector, "`labels` of the pods of signpost")
	flags.StringVar(&c.target.Namespace, "signpost-namespace", "", "`namespace` of the pods of signpost; empty for any")
	flags.IntVar(&c.target.Port, "port", 0, "`port` of the server in each pod; 0 for the one that the pod declares or that its role has")
	flags.DurationVar(&c.timeout, "timeout", c.timeout, "how long each process may take to be found, and to answer")
	c.format.AddFlag(cmd, more...)
	c.kubectl.Add(flags)
	flaggroup.Set(flags, "Process", "addr", "selector", "signpost-namespace", "port", "timeout")
	flaggroup.Set(flags, "Cluster", "kubeconfig", "context", "cluster", "user", "as", "as-uid", "as-group", "namespace")
	c.completeCluster(cmd)
}

// namespace returns the default namespace of names. Without a kubeconfig it is "default", because a
// server may be queried without one, and otherwise the search for pods reports the error.
func (c *client) namespace() string {
	if given := c.flagNamespace(); given != "" {
		return given
	}
	if namespace, err := c.kubectl.Namespace(); err == nil {
		return namespace
	}
	return "default"
}

// flagNamespace returns the namespace of the flag; "" if it wasn't set.
func (c *client) flagNamespace() string { return c.kubectl.Source().Overrides.Context.Namespace }

// found finds and connects the processes.
func (c *client) found(ctx context.Context, command string) (*portforward.Found, error) {
	if err := settings.CheckTimeout(c.timeout); err != nil {
		return nil, err
	}
	if c.target.Port < 0 || c.target.Port > math.MaxUint16 {
		return nil, settings.Usagef("--port=%d: must be from 1 to 65535, or 0 for the port of the pod", c.target.Port)
	}
	t := c.target
	t.Timeout = c.timeout
	t.Config = func() (*rest.Config, error) { return c.kubectl.RESTConfig(command) }
	if t.Addr == "" && inPod(c.kubectl.Source().Path) {
		t.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(c.portInPod(ctx)))
	}
	return portforward.Find(ctx, t)
}

// portInPod returns the port of the process in this pod: the first one with a socket for our own
// user, else the usual one.
func (c *client) portInPod(ctx context.Context) int {
	if c.target.Server != portforward.Admin {
		return c.local
	}
	for _, port := range []int{c.local, portforward.AdminPort, portforward.DNSAdminPort} {
		if conn, err := ownsocket.Dial(ctx, port); err == nil {
			_ = conn.Close() // only probes the port; the request opens another connection
			return port
		}
	}
	return c.local
}

// inPod reports whether the process runs in a pod without a kubeconfig, so that its own pod is
// queried.
func inPod(kubeconfig string) bool {
	if kubeconfig != "" || os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return false
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.WarnIfAllMissing = false
	loaded, err := rules.Load()
	return err == nil && clientcmdapi.IsConfigEmpty(loaded)
}

// query calls f with a client of the admin servers, and prints its result.
func (c *client) query(cmd *cobra.Command, s streams, f func(context.Context, *inspectclient.Client) (output.Result, error)) error {
	found, err := c.found(cmd.Context(), cmd.Name())
	if err != nil {
		return err
	}
	defer found.Close()
	a, err := f(cmd.Context(), inspectclient.New(found, c.timeout, s.err))
	if err != nil {
		return err
	}
	return output.Print(s.out, c.format, a)
}

// waiting returns a function that returns what a process waits for, for commands that use another server of
// that process.
func (c *client) waiting(p portforward.Process) func(context.Context) string {
	return func(ctx context.Context) string {
		if p.Pod == nil {
			host, _, err := net.SplitHostPort(p.Addr)
			if err != nil {
				return ""
			}
			return destclient.NotReady(ctx, net.JoinHostPort(host, "9996"))
		}
		admin := *c
		admin.target.Server, admin.target.Port, admin.target.Pod = portforward.Admin, 0, p.Pod.Name
		admin.target.Namespace = p.Pod.Namespace
		found, err := admin.found(ctx, "get")
		if err != nil {
			return ""
		}
		defer found.Close()
		return destclient.NotReady(ctx, found.Processes[0].Addr)
	}
}

// quiet drops the logs of libraries, so that errors are reported once. Roles log them.
func quiet() {
	// The level is valid.
	_ = logging.RouteLibraries(slog.New(slog.DiscardHandler), slog.LevelError)
}

// oneAtMost accepts at most one argument, which must not be empty.
func oneAtMost(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return tooMany(cmd, args, what)
		case len(args) == 1 && args[0] == "":
			return settings.Usagef("the %s is empty: name one, or leave it out", what)
		}
		return nil
	}
}

// oneSubject accepts at most one argument that names an object.
func oneSubject(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := kindAndName(args); err != nil {
			return err
		}
		return oneAtMost(what)(cmd, args)
	}
}

// kindAndName refuses a kind and a name as two arguments, as kubectl takes them.
func kindAndName(args []string) error {
	if len(args) == 2 {
		if _, known := inspect.KindOf(args[0]); known {
			return settings.Usagef("unexpected argument %q: did you mean %s/%s?", args[1], args[0], args[1])
		}
	}
	return nil
}

func tooMany(cmd *cobra.Command, args []string, what string) error {
	return settings.Usagef("unexpected argument %q: %s takes one %s", args[1], cmd.Name(), what)
}

// exitError is an error with its own exit code. A nil err prints nothing.
type exitError struct {
	err  error
	code int
}

// Error implements error.
func (c *exitError) Error() string {
	if c.err == nil {
		return ""
	}
	return c.err.Error()
}

// Unwrap returns the error.
func (c *exitError) Unwrap() error { return c.err }

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/nearest"
)

// adminTimeout limits a request to an admin server.
const adminTimeout = 20 * time.Second

func newAdminClient() *client {
	return newClient(portforward.Admin, portforward.AdminPort, adminTimeout)
}

// inspection returns cmd as a command without arguments that queries running processes with f, and
// prints the result.
func inspection(s streams, cmd *cobra.Command, f func(*inspectclient.Client, context.Context) (output.Result, error)) *cobra.Command {
	c := newAdminClient()
	cmd.Args = noArguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) { return f(l, ctx) })
	}
	c.flags(cmd)
	return cmd
}

func newStatusCommand(s streams) *cobra.Command {
	return inspection(s, &cobra.Command{
		Use:   "status",
		Short: "Show all processes of signpost: roles, readiness, leaders, numbers",
		Long: `Show all processes of signpost: which roles they run, whether they are ready and what
for they wait, who leads, and how much they serve and publish.`,
		Example: "  signpost status\n  signpost status --addr 127.0.0.1:9996 -o yaml",
	}, (*inspectclient.Client).Status)
}

func newNowCommand(s streams) *cobra.Command {
	c := newAdminClient()
	cmd := &cobra.Command{
		Use:   "now",
		Short: "Show what is wrong now, the worst first, and why",
		Long: `Show what is wrong now in all processes of signpost, the worst first: processes,
leaders, kinds of objects that can't be read, linked clusters, zones, Services without
endpoints and what can't be written for them, clients that lag behind, records that
aren't published, held deletions, and parts of objects that can't be used. What has the
same cause is one line.

ERROR is what somebody doesn't get that objects ask for. WARNING is what nobody misses
now, such as a Service without endpoints for which no client asks, or what waits for you.

The exit code is 0 if nothing is wrong, 1 if something is, and 2 if that couldn't be
found out.`,
		Example: "  signpost now\n  signpost now -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.verdict(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, inspect.Verdict, error) {
				return l.Now(ctx)
			})
		},
	}
	c.flags(cmd)
	return cmd
}

// verdict is query whose exit code is that of a verdict.
func (c *client) verdict(cmd *cobra.Command, s streams, f func(context.Context, *inspectclient.Client) (output.Result, inspect.Verdict, error)) error {
	verdict := inspect.VerdictUnknown
	err := c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (a output.Result, err error) {
		a, verdict, err = f(ctx, l)
		return a, err
	})
	switch {
	case err != nil:
		return &exitError{err, exitUnknown}
	case verdict == inspect.VerdictWrong:
		return &exitError{code: exitFailure}
	case verdict != inspect.VerdictOK:
		return &exitError{code: exitUnknown}
	}
	return nil
}

func newStreamsCommand(s streams) *cobra.Command {
	c := newAdminClient()
	var filter inspectclient.StreamFilter
	var behind, everywhere bool
	cmd := &cobra.Command{
		Use:   "streams [SERVICE]",
		Short: "Show the clients of the Destination API and of xDS, and which lag behind",
		Long: `Show the open calls of the Destination API and the streams of xDS clients in all
processes: the client, what it asks for, and how far it is. SENT is the version of the
answer that it was sent, and the newest one. A stream is

  SYNCED  the client was sent all that is known
  BEHIND  the client doesn't read as fast as there is something to send
  STALE   the client has what the process knows, which can't see changes now

SERVICE is one that clients ask for: svc/web with -n, shop/web or web.shop.`,
		Example: "  signpost streams\n  signpost streams svc/web -n shop\n  signpost streams --behind -o wide",
		Args:    oneSubject("Service"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if behind {
				filter.State = string(inspect.StreamBehind)
			}
			if err := c.streamSubject(&filter, args); err != nil {
				return err
			}
			if everywhere {
				filter.Namespace = ""
			}
			return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) {
				return l.Streams(ctx, filter)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&behind, "behind", false, "show only clients that lag behind")
	flags.Var(settings.Choice(&filter.State, "", "synced", "behind", "stale"), "state", "`state` of the streams to show: synced, behind or stale")
	flags.StringVar(&filter.Pod, "pod", "", "`name` of the client's pod, or NAMESPACE/NAME")
	flags.StringVar(&filter.Node, "node", "", "`name` of the client's node")
	flags.StringVar(&filter.Search, "search", "", "`text` that any of the columns has")
	flags.BoolVarP(&everywhere, "all-namespaces", "A", false, "show Services of all namespaces, as without -n")
	c.flags(cmd)
	complete(cmd, "state", "synced", "behind", "stale")
	cmd.ValidArgsFunction = c.completeServices
	return cmd
}

// streamSubject sets the Service, the pod and the namespace of the filter.
func (c *client) streamSubject(filter *inspectclient.StreamFilter, args []string) error {
	filter.Namespace = c.flagNamespace()
	if strings.Count(filter.Pod, "/") > 1 {
		return settings.Usagef("--pod=%s: must be NAME, or NAMESPACE/NAME", filter.Pod)
	}
	if filter.Pod != "" && !strings.Contains(filter.Pod, "/") {
		filter.Pod, filter.Namespace = c.namespace()+"/"+filter.Pod, ""
	}
	if len(args) == 0 {
		return nil
	}
	filter.Namespace = ""
	var err error
	filter.Service, err = inspectclient.Service(args[0], c.namespace())
	return err
}

// namespacedList returns cmd as a command that lists what one namespace or all have, narrowed by a
// text.
func namespacedList(s streams, cmd *cobra.Command, search string, list func(l *inspectclient.Client, ctx context.Context, namespace, search string) (output.Result, error)) *cobra.Command {
	c := newAdminClient()
	var text string
	var everywhere bool
	cmd.Args = noArguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		namespace := c.flagNamespace()
		if everywhere {
			namespace = ""
		}
		return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) {
			return list(l, ctx, namespace, text)
		})
	}
	cmd.Flags().StringVar(&text, "search", "", search)
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "show all namespaces, as without -n")
	c.flags(cmd)
	return cmd
}

func newServicesCommand(s streams) *cobra.Command {
	return namespacedList(s, &cobra.Command{
		Use:   "services",
		Short: "Show the Services that are served, with their endpoints and streams",
		Long: `Show the Services that processes with the destination role serve: how many endpoints
they have, and how many clients ask for them. Without -n it shows all namespaces.

STATE is what signpost explain would find, the worst first: unserved (there are ready
endpoints, and clients get none, such as for a wrong targetPort), no-endpoints (none is
ready), partly-served (some ports or places get none), no-ports, external-name, served.`,
		Example: "  signpost services\n  signpost services -n shop -o wide",
	}, "`text` that the name has", (*inspectclient.Client).Services)
}

func newProblemsCommand(s streams) *cobra.Command {
	return namespacedList(s, &cobra.Command{
		Use:   "problems",
		Short: "Show the parts of objects that can't be used, and why",
		Long: `Show the parts of objects that can't be used: a field or an annotation, why, and what to
do. Without -n it shows all namespaces.`,
		Example: "  signpost problems\n  signpost problems -n shop",
	}, "`text` that the object or the reason has", (*inspectclient.Client).Problems)
}

// outputZone is the format of records in master file syntax.
const outputZone = "zone"

func newRecordsCommand(s streams) *cobra.Command {
	c := newAdminClient()
	var filter inspectclient.RecordFilter
	cmd := &cobra.Command{
		Use:   "records [ZONE|NAME]",
		Short: "Show the DNS records that objects ask for, and what zones have",
		Long: `Show the DNS records that objects ask for and those that zones have, as the process that
leads knows them. A record is

  published  the zone has what objects ask for
  pending    it is being planned or written
  held       it waits for approval, or until more is known
  conflict   the name has records of another owner, or of nobody known
  no-zone    no zone of the provider holds the name
  failing    the provider refuses it, or can't be reached
  unwanted   it is ours, nobody asks for it, and the policy or a filter keeps it
  foreign    the zone has it, it isn't ours, and nobody asks for it

With the name of a zone it shows that zone, with another name the records of that name.
If several publishers have records, each row says whose it is. With -o zone it prints
what one zone has as a master file (RFC 1035); if publishers have zones of the same
name, say which one with --publisher.`,
		Example: "  signpost records\n  signpost records example.org --state held,conflict\n  signpost records www.example.org\n  signpost records example.org --publisher public -o zone",
		Args:    oneAtMost("zone or name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				filter.Zone = strings.TrimSuffix(strings.ToLower(args[0]), ".")
			}
			if err := checkStates(filter.States); err != nil {
				return err
			}
			if err := checkObject(filter.Object); err != nil {
				return err
			}
			return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) {
				a, records, err := l.Records(ctx, filter)
				if err != nil || c.format.Kind != outputZone {
					return a, err
				}
				if len(records) == 0 && filter.Zone != "" {
					err = l.CheckZone(ctx, filter.Zone)
				}
				if err := errors.Join(err, inspectclient.OneZone(records)); err != nil {
					return output.Result{}, settings.Usagef("-o %s: %w", outputZone, err)
				}
				return output.Result{Text: inspectclient.ZoneFile(records, filter)}, nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&filter.States, "state", nil, "`states` of the records to show, with commas")
	flags.StringVar(&filter.Search, "search", "", "`text` that a name, a target or an object has")
	flags.StringVar(&filter.Object, "object", "", "`KIND/NAMESPACE/NAME` of the object that asks for the records")
	flags.StringVar(&filter.Publisher, "publisher", "", "`name` of the publisher in the config file")
	c.flags(cmd, outputZone)
	complete(cmd, "state", inspect.RecordStates()...)
	cmd.ValidArgsFunction = c.completeZones
	return cmd
}

func checkObject(text string) error {
	parts := strings.Split(text, "/")
	if text != "" && (len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "")) {
		return settings.Usagef("--object=%s: must be KIND/NAMESPACE/NAME, or KIND/NAME for an object without a namespace", text)
	}
	return nil
}

func checkStates(names []string) error {
	for _, name := range names {
		if slices.Contains(inspect.RecordStates(), name) {
			continue
		}
		if near, ok := nearest.Of(name, inspect.RecordStates()); ok {
			return settings.Usagef("--state=%s: unknown: did you mean %s?", name, near)
		}
		return settings.Usagef("--state=%s: unknown: use some of %s", name, strings.Join(inspect.RecordStates(), ", "))
	}
	return nil
}

func newExplainCommand(s streams) *cobra.Command {
	c := newAdminClient()
	cmd := &cobra.Command{
		Use:   "explain SUBJECT",
		Short: "Say why something is served or published, or isn't",
		Long: `Say why something is served or published, or isn't: the way from the object to the
clients and into DNS, step by step, with the cause and the fix in the last line. SUBJECT is

  svc/web, shop/web, web.shop:80      a Service, with or without a port (its number or name)
  db-0.db.shop.svc.cluster.local      a pod of a headless Service
  deploy/web                          the Services of its pods
  Ingress/web, node/n1, sp/NAME       another object
  10.42.0.17, 10.42.0.17:8080         an address, of a pod or of a node
  www.example.org                     a DNS name
  http://web.shop/cart                what a client calls

Names without a namespace are in that of -n. The exit code is 0 if all is well, 1 if
something is wrong, and 2 if that couldn't be found out.`,
		Example: "  signpost explain svc/web -n shop\n  signpost explain www.example.org",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return settings.Usagef("nothing to explain: name a Service, an object, an address, a DNS name or a URL")
			}
			return oneSubject("subject")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			subject, err := inspectclient.Subject(args[0], c.namespace())
			if err != nil {
				return &exitError{err, exitUnknown}
			}
			return c.verdict(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, inspect.Verdict, error) {
				return l.Explain(ctx, subject)
			})
		},
	}
	c.flags(cmd)
	cmd.ValidArgsFunction = c.completeServices
	return cmd
}

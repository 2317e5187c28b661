package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/app/xdsclient"
	"github.com/signpostd/signpost/xds/bootstrap"
)

func newXDSCommand(s streams) *cobra.Command {
	c := settings.Default()
	c.RunsXDS = true
	cmd := &cobra.Command{
		Use:   "xds",
		Short: "Serve xDS to gRPC clients and Envoy",
		Long: `Serve xDS to gRPC clients that resolve xds:///SERVICE.NAMESPACE:PORT, and to Envoy.
Nothing is written. Each replica serves.`,
		Example: "  signpost xds\n  signpost xds --xds-auth token --xds-tls-cert tls.crt --xds-tls-key tls.key",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runFlags(cmd.Context(), c, cmd.Flags(), s) },
	}
	settings.AddFlags(cmd.Flags(), c.Settings())
	cmd.AddCommand(newXDSGetCommand(s), newXDSBootstrapCommand(s))
	return cmd
}

func newXDSBootstrapCommand(s streams) *cobra.Command {
	o := bootstrap.Options{Server: "dns:///signpost-xds.signpost.svc:8087"}
	var envoy bool
	var namespaces []string
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Print a bootstrap file for gRPC clients or Envoy",
		Long: `Print a bootstrap file for gRPC clients, which find it by the environment variable
GRPC_XDS_BOOTSTRAP. One file is enough for all pods: Signpost knows the node and the
namespace of a pod by its address.

With --envoy, print the configuration with which Envoy gets a Cluster for each TCP port of
the Services of its namespaces. Add listeners to it.`,
		Example: `  signpost xds bootstrap --server dns:///signpost-xds.signpost.svc:8087 > bootstrap.json
  signpost xds bootstrap --envoy --namespaces shop,web > envoy.yaml`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if len(namespaces) > 0 && !envoy {
				return settings.Usagef("--namespaces: is for --envoy only: gRPC clients ask for each Service by its name")
			}
			text, err := bootstrapText(o, envoy, namespaces)
			if err != nil {
				return settings.AsUsage(err)
			}
			_, err = s.out.Write(text)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Server, "server", o.Server, "`URI` of Signpost for the clients")
	flags.StringVar(&o.Fallback, "fallback", "", "`URI` of another server, for when the first one is unreachable")
	flags.StringSliceVar(&o.Authorities, "authority", nil, "`authority` of xdstp:// names; repeat it for several")
	flags.StringVar(&o.Files.CA, "tls-ca", "", "`path` in the pods of clients: certificates of the authorities that sign that of Signpost")
	flags.StringVar(&o.Files.Token, "token-file", "", "`path` in the pods of clients: a service account token with the audience signpost-xds")
	flags.StringVar(&o.Files.Cert, "tls-cert", "", "`path` in the pods of clients: a client certificate, with --tls-key")
	flags.StringVar(&o.Files.Key, "tls-key", "", "`path` in the pods of clients: the key of --tls-cert")
	flags.StringVar(&o.Certs, "certs", "", "`directory` in the pods of clients with tls.crt, tls.key and ca.crt, for Services with the annotation signpost.dev/tls")
	flags.BoolVar(&envoy, "envoy", false, "print the configuration of Envoy, in YAML")
	flags.StringSliceVar(&namespaces, "namespaces", nil, "`namespaces` whose Clusters Envoy gets, * for all; the one of its pod if empty")
	return cmd
}

// bootstrapText returns the file of gRPC clients in JSON, or that of Envoy in YAML.
func bootstrapText(o bootstrap.Options, envoy bool, namespaces []string) ([]byte, error) {
	if envoy {
		file, err := o.Envoy(namespaces)
		if err != nil {
			return nil, err
		}
		return yaml.Marshal(file)
	}
	file, err := o.File()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(file, "", "  ")
	return append(text, '\n'), err
}

func newXDSGetCommand(s streams) *cobra.Command {
	var o xdsclient.Options
	c := newClient(portforward.XDS, 8087, 10*time.Second)
	c.target.First = portforward.One
	cmd := &cobra.Command{
		Use:   "get TARGET",
		Short: "Show what a gRPC client gets for a target",
		Long: `Show what a gRPC client gets for xds:///TARGET: routes, Clusters with their TLS settings,
and endpoints. A pod of signpost that is ready is asked, unless --addr names a server, which
may be any xDS server. The exit code is 2 for a target that doesn't exist.`,
		Example: `  signpost xds get web.shop:80 --zone zone-a --watch
  signpost xds get web.shop:80 --tls-ca ca.crt --token-file token
  signpost xds get web.shop:80 --addr 127.0.0.1:8087`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target = strings.TrimPrefix(args[0], "xds:///")
			return getXDS(cmd.Context(), c, o, s.out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.TLS.CA, "tls-ca", "", "`path` of the certificates of the authorities that sign that of the server; empty for no TLS")
	flags.StringVar(&o.TLS.ServerName, "tls-server-name", "", "`name` in the certificate of the server; empty for the host in --addr, or signpost-xds in the namespace of the pod")
	flags.StringVar(&o.TLS.TokenFile, "token-file", "", "`path` of a service account token with the audience signpost-xds, for --xds-auth=token")
	flags.StringVar(&o.TLS.Cert, "tls-cert", "", "`path` of a client certificate, for --xds-auth=mtls")
	flags.StringVar(&o.TLS.Key, "tls-key", "", "`path` of the key of --tls-cert")
	flags.BoolVarP(&o.Watch, "watch", "w", false, "print each change until interrupted")
	flags.StringVar(&o.Zone, "zone", "", "`zone` of the client")
	flags.StringVar(&o.Node, "node", "", "`node` of the client")
	c.flags(cmd)
	flags.Lookup("timeout").Usage = "how long it may take to find a pod, and to get the first answer"
	flags.Lookup("namespace").Usage = "`namespace` of the client, for names without one"
	return cmd
}

// getXDS finds a server and queries it for a target. A pod is expected to have the certificate of the
// chart's Service.
func getXDS(ctx context.Context, c *client, o xdsclient.Options, out io.Writer) error {
	found, err := c.found(ctx, "xds get")
	if err != nil {
		return err
	}
	defer found.Close()
	server := found.Processes[0]
	o.Addr, o.Namespace, o.Timeout, o.Output = server.Addr, c.namespace(), c.timeout, c.format
	if o.TLS.CA != "" && o.TLS.ServerName == "" && server.Pod != nil {
		o.TLS.ServerName = fmt.Sprintf("signpost-xds.%s.svc", server.Pod.Namespace)
	}
	err = xdsclient.Get(ctx, o, out)
	if errors.Is(err, xdsclient.ErrUnknown) {
		return &exitError{code: exitUsage}
	}
	return err
}

// oneTarget accepts exactly one argument, a target.
func oneTarget(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return settings.Usagef("no target given: name one, such as web.shop:50051")
	}
	return oneAtMost("target")(cmd, args)
}

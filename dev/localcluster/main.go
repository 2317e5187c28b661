// Command localcluster runs a small but real Kubernetes on the loopback interface, without Docker,
// downloads or root:
//
//	localcluster up --dir DIR [--nodes 3] [--crds DIR] [--endpoint-controllers=signpost|kubernetes] [--audit-log FILE]
//
// starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler, each as a child process
// of this binary, and simulated nodes on which pods become Running and Ready. It prints a line per
// component and, at last, the kubeconfig's path:
//
//	export KUBECONFIG=DIR/kubeconfig
//	kubectl create deployment web --image=any --replicas=3
//	kubectl scale deployment web --replicas=5
//	kubectl rollout restart deployment web
//	kubectl annotate pod NAME signpost.dev/ready=false     # and it is not ready
//	kill -9 $(cat DIR/pids/kube-apiserver)                 # and it comes back after --restart-delay
//
// Endpoints and EndpointSlices are left to `bin/signpost controllers --kubeconfig DIR/kubeconfig`,
// beside it; with --endpoint-controllers=kubernetes the cluster writes them itself.
//
// Ctrl-C ends it. Each component is also a subcommand with its usual flags, such as `localcluster
// etcd --help`. Build it from the repository's root: go build -C dev/localcluster -o
// ../../bin/localcluster .
//
// Exit codes: 0 after SIGINT or SIGTERM, 1 when a component fails, 2 for a wrong command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dev/localcluster/cluster"
)

func main() {
	if len(os.Args) > 1 {
		if become := component(os.Args[1]); become != nil {
			become(os.Args[2:])
			return
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintln(os.Stderr, "localcluster:", err)
	stop()
	os.Exit(exitCode(err))
}

// failure marks an error of running, as opposed to an error of asking.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func exitCode(err error) int {
	if errors.As(err, &failure{}) {
		return 1
	}
	return 2
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "Kubernetes on the loopback interface, with simulated nodes",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Usage()
			return errors.New("name a command")
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	// The components' packages put flags on the process's own flag set, which cobra would show as ours.
	pflag.CommandLine.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	root.AddCommand(newUp(), newVersion())
	for _, name := range cluster.Components() {
		root.AddCommand(&cobra.Command{ // for the help text; main dispatches before cobra parses
			Use: name, Short: "Become " + name + ", with its usual flags", DisableFlagParsing: true,
			Run: func(*cobra.Command, []string) {},
		})
	}
	return root
}

func newUp() *cobra.Command {
	options := cluster.Default()
	options.Report = func(message string) { fmt.Println(message) }
	up := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Run a cluster until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			if err := cluster.Run(cmd.Context(), options); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	flags := up.Flags()
	flags.StringVar(&options.Dir, "dir", options.Dir, "directory for data, logs, pid files and the kubeconfig")
	flags.BoolVar(&options.Ephemeral, "ephemeral", options.Ephemeral, "end quickly and remove --dir at the end")
	flags.IntVar(&options.Port, "port", options.Port, "port of the API server; 0 picks one")
	flags.StringSliceVar(&options.Components, "components", options.Components, "what to run; etcd and kube-apiserver are a must")
	flags.StringVar(&options.EndpointControllers, "endpoint-controllers", options.EndpointControllers,
		"who writes Endpoints and EndpointSlices: kubernetes, or signpost: nobody here, start `signpost controllers` beside it")
	flags.BoolVar(&options.PodGC, "pod-gc", options.PodGC, "fail and delete the pods of deleted nodes, some time later")
	flags.StringVar(&options.CRDs, "crds", options.CRDs, "directory whose *.yaml are CustomResourceDefinitions to apply")
	flags.StringVar(&options.AuditLog, "audit-log", options.AuditLog, "file that gets a line of JSON about each request to the API server")
	flags.IntVar(&options.Nodes, "nodes", options.Nodes, "number of simulated nodes")
	flags.DurationVar(&options.PodReadyDelay, "pod-ready-delay", options.PodReadyDelay, "time from the start of a simulated pod to its readiness")
	flags.DurationVar(&options.RestartDelay, "restart-delay", options.RestartDelay, "time from the death of a component to its next start")
	flags.DurationVar(&options.StartTimeout, "start-timeout", options.StartTimeout, "time until everything must be ready")
	return up
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of what is inside",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "kubernetes", moduleVersion("k8s.io/kubernetes"))
			fmt.Fprintln(cmd.OutOrStdout(), "etcd", moduleVersion("go.etcd.io/etcd/server/v3"))
		},
	}
}

// moduleVersion returns the version of a module that is linked in.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path == path {
			return strings.TrimSpace(module.Version)
		}
	}
	return "unknown"
}

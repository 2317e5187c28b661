package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // CronJobs name time zones, and the host may have no zone database
	_ "unsafe"      // for the linkname below

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info on /metrics
	kubeversion "k8s.io/component-base/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/signpostd/signpost/dev/localcluster/cluster"
)

// kubeGitVersion is the variable that a release build of Kubernetes sets with a linker flag.
// Without it the API server reports v0.0.0-master, which Helm charts and version checks of clients
// refuse. Setting it here instead keeps a plain `go build` sufficient.
//
//go:linkname kubeGitVersion k8s.io/component-base/version.gitVersion
var kubeGitVersion string

// component returns the function that becomes the named component and never returns, or nil if there is none.
// It gets the arguments after the name.
func component(name string) func(args []string) {
	switch name {
	case cluster.Etcd:
		return func(args []string) { etcdmain.Main(append([]string{name}, args...)) }
	case cluster.APIServer:
		return kubernetesCommand(apiserver.NewAPIServerCommand)
	case cluster.ControllerManager:
		return kubernetesCommand(controllermanager.NewControllerManagerCommand)
	case cluster.Scheduler:
		return kubernetesCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() })
	default:
		return nil
	}
}

// kubernetesCommand wraps the command of a Kubernetes component. The command is made only when it
// is wanted: making one registers flags and feature gates for the whole process.
func kubernetesCommand(command func() *cobra.Command) func(args []string) {
	return func(args []string) {
		kubeGitVersion = moduleVersion("k8s.io/kubernetes")
		if err := kubeversion.SetDynamicVersion(kubeGitVersion); err != nil {
			fmt.Fprintln(os.Stderr, "localcluster: set the version of Kubernetes:", err)
			os.Exit(1)
		}
		c := command()
		c.SetArgs(args)
		os.Exit(cli.Run(c))
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/check"
	"github.com/signpostd/signpost/app/installation"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// maxManifests limits manifests in bytes, far above those of any chart.
const maxManifests = 16 << 20

// runFile checks the roles of a config file, of manifests, or of the installation of the cluster.
func (c *checkCommand) runFile(ctx context.Context) error {
	switch {
	case c.configFile != "" && c.manifests != "":
		return settings.Usagef("--config and -f: give one of them")
	case c.manifests != "":
		found, err := c.readManifests()
		if err != nil {
			return err
		}
		return c.runInstallation(ctx, found)
	case c.configFile == "":
		found, err := c.find(ctx)
		if err != nil {
			return err
		}
		if c.kube.As() == "" {
			c.account = "system:serviceaccount:" + found.Account.Namespace + ":" + found.Account.Name
		}
		return c.runInstallation(ctx, found)
	}
	resolver := installation.Local()
	config, err := readReferring(c.configFile, resolver.References)
	if err != nil {
		return err
	}
	c.kube.Default(config.Process.Kubeconfig)
	return c.runConfig(ctx, c.configFile, config, resolver)
}

// readManifests returns the installation of the manifests of -f.
func (c *checkCommand) readManifests() (installation.Installation, error) {
	objects, err := manifest.ReadPath(c.manifests, os.Stdin, maxManifests)
	if err != nil {
		return installation.Installation{}, settings.Usagef("-f %s: %w", c.manifests, err)
	}
	found, err := installation.FromManifests(objects)
	if err != nil {
		return found, settings.Usagef("-f %s: %w", c.manifests, err)
	}
	return found, nil
}

func (c *checkCommand) find(ctx context.Context) (installation.Installation, error) {
	const advice = "find the installation to check: %w; or name a config file with --config, or manifests with -f"
	cfg, err := c.kube.OwnConfig("check")
	if err != nil {
		return installation.Installation{}, fmt.Errorf(advice, err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return installation.Installation{}, fmt.Errorf(advice, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if _, err := kube.Reach(ctx, cfg); err != nil {
		return installation.Installation{}, &exitError{err: fmt.Errorf(advice, err), code: reachCode(err)}
	}
	return installation.Find(ctx, client, c.kube.GivenNamespace())
}

// reachCode returns the exit code for an error of [kube.Reach]: refused credentials are known to be wrong.
func reachCode(err error) int {
	if apierrors.IsUnauthorized(err) {
		return exitFailure
	}
	return exitUnknown
}

// client returns a client as the user of the kubeconfig.
func (c *checkCommand) client() (kubernetes.Interface, error) {
	cfg, err := c.kube.OwnConfig("check")
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cfg)
}

// runInstallation checks an installation, with the values of its Secrets.
func (c *checkCommand) runInstallation(ctx context.Context, found installation.Installation) error {
	c.found = found
	client, err := c.client()
	if err != nil {
		client = nil // the report says why
	}
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resolver := found.Resolver(limited, client)
	config, err := settings.Decode(found.File, found.Config, resolver.References)
	if err != nil {
		return err
	}
	if err := setArguments(&config.Process, found); err != nil {
		return err
	}
	// A kubeconfig in the file is one of the pod.
	return c.runConfig(ctx, found.File, config, resolver)
}

// setArguments sets the settings that the arguments of the container override. It refuses the arguments that
// `signpost run` would refuse.
func setArguments(p *settings.Process, found installation.Installation) error {
	cmd := newRunCommand(streams{io.Discard, io.Discard})
	cmd.Flags().SetOutput(io.Discard)
	args := found.Arguments
	if len(args) > 0 && args[0] == cmd.Name() {
		args = args[1:]
	}
	err := cmd.ParseFlags(args)
	if err != nil {
		err = explainFlagError(cmd, err)
	} else if err = noRunArguments(cmd, cmd.Flags().Args()); err == nil {
		err = overridden(cmd.Flags())(p)
	}
	if err != nil {
		return settings.Usagef("the arguments of the Deployment %s/%s: %w", sanitize.Name(found.Deployment.Namespace), sanitize.Name(found.Deployment.Name), err)
	}
	return nil
}

// runConfig checks the roles of a config file that a resolver has resolved.
func (c *checkCommand) runConfig(ctx context.Context, name string, config settings.Config, resolver *installation.Resolver) error {
	if len(config.Roles()) == 0 {
		return noRole(name)
	}
	in := c.input(config)
	in.NoSecret = resolver.Missing(config.DNS.Publishers)
	return c.report(ctx, in)
}

// asInstalled sets the account of an installation that was found.
func (c *checkCommand) asInstalled(s *check.Input) {
	if c.found.Account.Namespace != "" && c.kube.As() == "" {
		s.Account = c.found.Account
	}
	s.Pods = check.Pods{Namespace: c.found.Deployment.Namespace, Selector: c.found.Selector}
	s.Needs = check.Needs{Secrets: c.found.Mounted, Namespaces: c.found.Namespaces}
	if c.account != "" {
		s.As = c.account
		s.Rights.Impersonate = rest.ImpersonationConfig{UserName: c.account}
	}
}

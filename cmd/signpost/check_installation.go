package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/check"
	"github.com/signpostd/signpost/app/installation"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/manifest"
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
	text, err := os.ReadFile(c.configFile)
	if err != nil {
		return settings.Usagef("read the config file: %w", err)
	}
	resolved, missing := installation.Resolve(text, installation.Local)
	config, err := decodeConfig(c.configFile, resolved)
	if err != nil {
		return err
	}
	c.kube.Default(config.Process.Kubeconfig)
	return c.runConfig(ctx, c.configFile, config, missing)
}

// readManifests returns the installation of the manifests of -f.
func (c *checkCommand) readManifests() (installation.Installation, error) {
	decode := func() ([]*unstructured.Unstructured, error) { return manifest.DecodeFile(c.manifests, maxManifests) }
	if c.manifests == "-" {
		decode = func() ([]*unstructured.Unstructured, error) { return manifest.DecodeAtMost(os.Stdin, maxManifests) }
	}
	objects, err := decode()
	if err != nil {
		return installation.Installation{}, settings.Usagef("-f %s: %w", c.manifests, err)
	}
	found, err := installation.FromManifests(objects)
	if err != nil {
		return found, settings.Usagef("-f %s: %w", c.manifests, err)
	}
	return found, nil
}

// find returns the installation of the cluster.
func (c *checkCommand) find(ctx context.Context) (installation.Installation, error) {
	client, err := c.client()
	if err != nil {
		return installation.Installation{}, fmt.Errorf("find the installation to check: %w; or name a config file with --config, or manifests with -f", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return installation.Find(ctx, client, c.kube.GivenNamespace())
}

// client returns a client as the user of the kubeconfig.
func (c *checkCommand) client() (kubernetes.Interface, error) {
	cfg, err := c.kube.RESTConfig("check")
	if err != nil {
		return nil, err
	}
	cfg.Impersonate = rest.ImpersonationConfig{}
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
	resolved, missing := installation.Resolve(found.Config, found.Secrets(limited, client))
	config, err := settings.DecodeFor(found.References(), found.File, resolved)
	if err != nil {
		return err
	}
	// A kubeconfig in the file is one of the pod.
	return c.runConfig(ctx, found.File, config, missing)
}

// runConfig checks the roles of a config file. missing has the secrets that are unknown, by the
// index of the publisher.
func (c *checkCommand) runConfig(ctx context.Context, name string, config settings.Config, missing map[int]error) error {
	if len(config.Roles()) == 0 {
		return noRole(name)
	}
	in := c.input(config)
	in.NoSecret = map[string]error{}
	for index, why := range missing {
		if index < len(config.DNS.Publishers) {
			in.NoSecret[config.DNS.Publishers[index].Name] = why
		}
	}
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
		s.Rights.Impersonate.UserName = c.account
	}
}

package kube

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// requestRate and requestBurst limit the requests of writers. Watches of tables have no limit.
	requestRate  = 50
	requestBurst = 100
)

// LoadConfig returns the configuration for an API server: from the kubeconfig file at path or, if path is
// empty, by kubectl's rules ($KUBECONFIG, ~/.kube/config, else the service account of the Pod). The API
// server records the part of userAgent before the slash as field manager, and all of it in its audit log.
func LoadConfig(path, userAgent string) (*rest.Config, error) {
	return ConfigSource{Path: path}.Load(userAgent)
}

// ConfigSource says where to load the configuration for an API server, and what to override in it.
type ConfigSource struct {
	// Path is a kubeconfig file, as for [LoadConfig].
	Path string
	// Overrides replace settings of the kubeconfig, such as the current context.
	Overrides clientcmd.ConfigOverrides
}

// Load returns the configuration, as [LoadConfig] does.
func (s ConfigSource) Load(userAgent string) (*rest.Config, error) {
	rules := s.rules()
	cfg, err := s.deferred(rules).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("load a kubeconfig: %s, and this is not a Pod: name one with --kubeconfig or KUBECONFIG", s.empty(rules))
	case err != nil:
		return nil, s.explain(rules, err)
	}
	if as := s.Overrides.AuthInfo; as.Impersonate != "" && cfg.Impersonate.UserName == "" {
		// client-go ignores overrides of impersonation for in-cluster configurations.
		cfg.Impersonate = rest.ImpersonationConfig{UserName: as.Impersonate, UID: as.ImpersonateUID, Groups: as.ImpersonateGroups}
	}
	cfg.UserAgent = userAgent
	cfg.QPS, cfg.Burst = requestRate, requestBurst
	return cfg, nil
}

// Namespace returns the namespace of the overrides, else of the context, else of the Pod, else "default".
func (s ConfigSource) Namespace() (string, error) {
	namespace, _, err := s.deferred(s.rules()).Namespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace of the kubeconfig: %w", err)
	}
	return namespace, nil
}

func (s ConfigSource) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Path
	// The returned error covers this case.
	rules.WarnIfAllMissing = false
	return rules
}

func (s ConfigSource) deferred(rules *clientcmd.ClientConfigLoadingRules) clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &s.Overrides)
}

// empty says why no API server is configured.
func (s ConfigSource) empty(rules *clientcmd.ClientConfigLoadingRules) string {
	if s.Path != "" {
		return s.Path + " names no API server"
	}
	var found, missing []string
	for _, path := range rules.Precedence {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, filepath.Clean(path))
		} else if path != "" {
			found = append(found, path)
		}
	}
	switch by := fromEnvironment(); {
	case len(found) > 0:
		return strings.Join(found, ", ") + " names no API server"
	case len(missing) == 1:
		return missing[0] + by + " does not exist"
	default:
		return strings.Join(missing, ", ") + by + " do not exist"
	}
}

// fromEnvironment says that KUBECONFIG names the files, if it is set.
func fromEnvironment() string {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return ""
	}
	return " (of KUBECONFIG)"
}

// ofFile matches client-go's error about a file, with its path.
var ofFile = regexp.MustCompile(`^error loading config file "([^"]*)": `)

// explain returns an error about a kubeconfig that names its path once. If a flag names a context,
// cluster or user that the kubeconfig lacks, the error lists the existing ones.
func (s ConfigSource) explain(rules *clientcmd.ClientConfigLoadingRules, err error) error {
	text, path := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "invalid configuration: "), "."), s.Path
	if file := ofFile.FindStringSubmatch(text); file != nil {
		path = file[1]
		text = strings.TrimPrefix(strings.TrimPrefix(text, file[0]), "read "+path+": ")
	}
	if missing := s.missing(rules); missing != "" {
		text = missing
	}
	if inner := new(os.PathError); errors.As(err, &inner) {
		text, path = inner.Err.Error(), inner.Path
	}
	return fmt.Errorf("load %s: %s", strings.TrimSpace("the kubeconfig "+path), text)
}

// missing says which context, cluster or user of the overrides the kubeconfig lacks; "" for none.
func (s ConfigSource) missing(rules *clientcmd.ClientConfigLoadingRules) string {
	loaded, err := rules.Load()
	if err != nil {
		return ""
	}
	o := s.Overrides
	for _, named := range []struct {
		what, name string
		known      []string
	}{
		{"context", o.CurrentContext, slices.Sorted(maps.Keys(loaded.Contexts))},
		{"cluster", o.Context.Cluster, slices.Sorted(maps.Keys(loaded.Clusters))},
		{"user", o.Context.AuthInfo, slices.Sorted(maps.Keys(loaded.AuthInfos))},
	} {
		if named.name == "" || slices.Contains(named.known, named.name) {
			continue
		}
		return fmt.Sprintf("the %s %q does not exist%s", named.what, named.name, choices(named.known))
	}
	return ""
}

// choices returns an advice with the first of some names.
func choices(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return ": use " + names[0]
	case n > most:
		return fmt.Sprintf(": use one of %s, …", strings.Join(names[:most], ", "))
	default:
		return ": use one of " + strings.Join(names, ", ")
	}
}

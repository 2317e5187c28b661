package installation

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Resolver resolves the references of a config file. A secret that can't be read gets a placeholder.
type Resolver struct {
	References settings.References
	// missing has the reasons why secrets can't be read, by their placeholders.
	missing map[string]error
}

// lacks returns the placeholder of a secret that can't be read. It has the length of an AES key and
// is valid base64, as TSIG keys are.
func (r *Resolver) lacks(format string, args ...any) string {
	placeholder := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "missing secret %09d", len(r.missing)))
	r.missing[placeholder] = fmt.Errorf(format, args...)
	return placeholder
}

// Missing returns the reasons why publishers lack a secret, by publisher.
func (r *Resolver) Missing(publishers []*configure.Options) map[string]error {
	found := map[string]error{}
	for _, p := range publishers {
		for _, secret := range p.Secrets() {
			if why := r.missing[secret]; why != nil {
				found[p.Name] = why
			}
		}
	}
	return found
}

// Local returns the resolver of this machine, where variables and files may be missing.
func Local() *Resolver {
	r := &Resolver{missing: map[string]error{}}
	r.References.Variable = func(field, name string) (string, bool) {
		value, set := os.LookupEnv(name)
		if !set && isSecret(field) {
			return r.lacks("the environment variable %s is not set here", sanitize.Name(name)), true
		}
		return value, set
	}
	r.References.SecretFile = func(path string) (string, error) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return r.lacks("the file %s does not exist here", sanitize.Name(path)), nil
		}
		return configure.SecretIn(path)
	}
	return r
}

// Resolver returns the resolver of the installation, which reads its Secrets with a client; nil if the
// API server can't be reached. Variables and files of this machine are not used, because anybody who
// may create a Deployment in some namespace writes its config file, and names the servers that get the
// secrets.
func (i Installation) Resolver(ctx context.Context, client kubernetes.Interface) *Resolver {
	r := &Resolver{missing: map[string]error{}}
	r.References.Variable = func(field, name string) (string, bool) {
		value, set := i.variables[name]
		if set || !isSecret(field) {
			return value, set
		}
		key, ok := i.secrets["${"+name+"}"]
		if !ok {
			return r.lacks("the Deployment sets no variable %s, or not from a key of a Secret", sanitize.Name(name)), true
		}
		return r.secret(ctx, client, i.Deployment.Namespace, key), true
	}
	r.References.SecretFile = func(path string) (string, error) {
		key, ok := i.secrets[path]
		if !ok {
			return r.lacks("the Deployment mounts no Secret as the file %s", sanitize.Text(path)), nil
		}
		return r.secret(ctx, client, i.Deployment.Namespace, key), nil
	}
	return r
}

// secret returns the value of a key of a Secret.
func (r *Resolver) secret(ctx context.Context, client kubernetes.Interface, namespace string, key secretKey) string {
	name := fmt.Sprintf("the key %s of the Secret %s/%s", sanitize.Name(key.Key), sanitize.Name(namespace), sanitize.Name(key.Name))
	if client == nil {
		return r.lacks("%s can't be read without the API server", name)
	}
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return r.lacks("%s is missing: there is no such Secret", name)
	case apierrors.IsForbidden(err):
		return r.lacks("you may not read %s", name)
	case err != nil:
		return r.lacks("read %s: %w", name, err)
	}
	value, ok := secret.Data[key.Key]
	if !ok {
		return r.lacks("%s is missing: the Secret has no such key", name)
	}
	return strings.TrimRight(string(value), "\r\n")
}

// publisherFlags are the flags that are fields of a publisher.
var publisherFlags = sync.OnceValue(func() *pflag.FlagSet {
	flags := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	configure.NewForFile().Flags(flags)
	return flags
})

func isSecret(field string) bool {
	f := publisherFlags().Lookup(field)
	return f != nil && provider.IsSecret(f)
}

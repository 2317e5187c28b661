package configure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// InstanceNamespace is the namespace whose UID identifies the cluster.
	InstanceNamespace = metav1.NamespaceSystem
	// noInstance disables --instance.
	noInstance = "none"
)

// instances are the valid values of --instance, which are written into ownership texts.
var instances = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

func (o *Options) checkInstance() error {
	if i := o.Registry.Instance; i != "" && !instances.MatchString(i) {
		return fmt.Errorf("--instance=%.80q: give at most 63 letters, digits, dots, dashes and underscores, with a letter or a digit at both ends", i)
	}
	return nil
}

// DerivesInstance reports whether the instance is derived from the cluster, which needs the right
// to read [InstanceNamespace].
func (o *Options) DerivesInstance() bool {
	return o.RegistryKind() == registryTXT && o.Registry.Instance == ""
}

// Refusals says what a refused request (403) means.
type Refusals int

const (
	// RefusalsCount: the right is missing.
	RefusalsCount Refusals = iota
	// RefusalsMayPass: the API server may be starting, and the request must be repeated.
	RefusalsMayPass
)

// Identify sets the instance of the publisher among all processes with its owner ID. If it isn't
// configured, it is derived from the UID of a namespace that each cluster has, so that it is the
// same after restarts and in all replicas. If the API server denies access, and refusals count, there
// is none. After an error Identify must be retried before the publisher leads.
func (opened *Opened) Identify(ctx context.Context, client corev1client.NamespacesGetter, refusals Refusals) error {
	o := opened.options
	switch {
	case o.RegistryKind() != registryTXT || o.Registry.Instance == noInstance:
		return nil
	case o.Registry.Instance != "":
		opened.Publisher.SetInstance(o.Registry.Instance)
		return nil
	case client == nil:
		return nil
	}
	namespace, err := client.Namespaces().Get(ctx, InstanceNamespace, metav1.GetOptions{})
	switch {
	case refusals == RefusalsCount && apierrors.IsForbidden(err), apierrors.IsNotFound(err), err == nil && namespace.UID == "":
		opened.log.Info("Processes with the same owner ID can't be distinguished: this one may not read the namespace "+InstanceNamespace+"; give it the right, or an --instance", "err", err)
		return nil
	case err != nil:
		return fmt.Errorf("read the namespace %s to know the instance of this process: %w", InstanceNamespace, err)
	}
	opened.Publisher.SetInstance(instanceOf(string(namespace.UID)))
	return nil
}

// instanceOf returns the instance of a cluster: a hash, because the UID should not be in public
// zones.
func instanceOf(uid string) string {
	sum := sha256.Sum256([]byte("signpost instance " + uid))
	return hex.EncodeToString(sum[:8])
}

package linked

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// The type, label, annotations and data key of a Secret that is a link.
const (
	secretType              = "mirror.linkerd.io/remote-kubeconfig"
	clusterNameLabel        = "multicluster.linkerd.io/cluster-name"
	trustDomainAnnotation   = "multicluster.linkerd.io/trust-domain"
	clusterDomainAnnotation = "multicluster.linkerd.io/cluster-domain"
	kubeconfigKey           = "kubeconfig"
)

// secret is what is kept of a Secret with the label of links.
type secret struct {
	Namespace, Name string
	UID             types.UID
	Created         time.Time
	Type            string

	Cluster, TrustDomain, ClusterDomain string
	// Kubeconfig holds credentials: it must not be logged or shown.
	Kubeconfig string
}

// secrets is the kind of the Secrets with the label of links. Other Secrets are not requested.
func secrets() kube.Kind[secret] {
	return kube.Kind[secret]{
		Name:     "secret",
		Resource: corev1.SchemeGroupVersion.WithResource("secrets"),
		Form:     kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.SecretList{} }),
		// Without the right to read Secrets there are no linked clusters.
		Optional: true,
		Selector: clusterNameLabel,
		Trim:     kube.TrimOf(trimSecret),
	}
}

// Reads returns a table of what is read in our own cluster, to describe it. The table is never filled.
func Reads() kube.AnyTable { return secrets().Table() }

func trimSecret(_ kube.Scope, s *corev1.Secret) (*secret, []kube.Problem) {
	return &secret{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, Created: s.CreationTimestamp.UTC(), Type: string(s.Type),
		Cluster: s.Labels[clusterNameLabel], TrustDomain: s.Annotations[trustDomainAnnotation], ClusterDomain: s.Annotations[clusterDomainAnnotation],
		Kubeconfig: string(s.Data[kubeconfigKey]),
	}, nil
}

// link is a usable Secret.
type link struct {
	*secret
	config *rest.Config
}

// newLink parses the link in a Secret. The error says how to fix the Secret.
func newLink(s *secret, detours Detours) (*link, error) {
	missing := func(what string) error { return fmt.Errorf("%s is missing; link the cluster again", what) }
	switch {
	case s.Type != secretType:
		return nil, fmt.Errorf("its type is %s, and that of a link is %s; a type can't be changed, so create it again", s.Type, secretType)
	case s.Cluster == "":
		return nil, fmt.Errorf("the label %s is empty; make it the name of the cluster", clusterNameLabel)
	case s.Cluster == catalog.LocalCluster:
		return nil, fmt.Errorf("the cluster name %q is that of our own cluster; give the linked one another", s.Cluster)
	case s.TrustDomain == "":
		return nil, missing("the annotation " + trustDomainAnnotation)
	case s.ClusterDomain == "":
		return nil, missing("the annotation " + clusterDomainAnnotation)
	case strings.TrimSpace(s.Kubeconfig) == "":
		return nil, missing("the key " + kubeconfigKey + " of its data")
	}
	config, err := loadKubeconfig(s.Kubeconfig, detours)
	if err != nil {
		return nil, fmt.Errorf("its kubeconfig can't be used: %w", err)
	}
	return &link{s, config}, nil
}

// Selector is the label of the Secrets that are links. Others are not requested.
const Selector = clusterNameLabel

// Parse returns the name of a linked cluster and the connection to it, as a Secret has them. The error says
// how to fix the Secret.
func Parse(s *corev1.Secret, detours Detours) (cluster string, config *rest.Config, err error) {
	trimmed, _ := trimSecret(kube.Scope{}, s)
	l, err := newLink(trimmed, detours)
	if err != nil {
		return "", nil, err
	}
	return l.Cluster, l.config, nil
}

// configFor returns the configuration for the cluster, with the User-Agent of our own.
func (l *link) configFor(own *rest.Config) *rest.Config {
	config := rest.CopyConfig(l.config)
	config.UserAgent = own.UserAgent
	return config
}

// server returns the URL of the API server without credentials or path.
func (l *link) server() string {
	u, err := url.Parse(l.config.Host)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// cluster returns the catalog's object for the cluster.
func (l *link) cluster() *catalog.Cluster {
	return &catalog.Cluster{Name: l.Cluster, TrustDomain: l.TrustDomain, ClusterDomain: l.ClusterDomain}
}

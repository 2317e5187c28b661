package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

const (
	// configFlag is the argument of the container that names the config file.
	configFlag = "--config="
	// maxDeployments limits the Deployments that are read, far above any cluster.
	maxDeployments = 50
)

// Installation is a Deployment of Signpost with its config file.
type Installation struct {
	// Deployment and Account are the names of the Deployment and of its service account.
	Deployment, Account types.NamespacedName
	// File describes the config file in errors, Config is its text.
	File   string
	Config []byte
	// Arguments are those of the container.
	Arguments []string
	// Selector selects its pods.
	Selector string
	// Mounted are the Secrets without which no pod starts, in the namespace of the Deployment.
	Mounted []string
	// Namespaces are those of further objects of the manifests, which don't create the namespaces,
	// with an object in each.
	Namespaces map[string]string
	// secrets are the keys of Secrets by their reference in the pod: ${NAME} or the path of a file.
	secrets map[string]secretKey
	// variables are the environment variables with values in the Deployment.
	variables map[string]string
}

type secretKey struct{ Name, Key string }

// deployment is a Deployment with the path of its config file.
type deployment struct {
	*appsv1.Deployment
	container *corev1.Container
	path      string
}

// FromManifests returns the installation that manifests describe. The error says what they lack.
func FromManifests(objects []*unstructured.Unstructured) (Installation, error) {
	var found []deployment
	configs := map[string]*corev1.ConfigMap{}
	for _, o := range objects {
		switch o.GroupVersionKind().GroupKind().String() {
		case "Deployment.apps":
			d := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
				return Installation{}, fmt.Errorf("read the Deployment %s: %w", sanitize.Name(o.GetName()), err)
			}
			found = appendConfigured(found, d)
		case "ConfigMap":
			c := &corev1.ConfigMap{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, c); err != nil {
				return Installation{}, fmt.Errorf("read the ConfigMap %s: %w", sanitize.Name(o.GetName()), err)
			}
			configs[c.Namespace+"/"+c.Name] = c
		}
	}
	d, err := only(found, "", "name a config file with --config, or all manifests of the installation, as helm template prints them", "check one of them at a time")
	if err != nil {
		return Installation{}, err
	}
	i, err := d.installation(func(name string) (*corev1.ConfigMap, error) {
		if c := configs[d.Namespace+"/"+name]; c != nil {
			return c, nil
		}
		return nil, errors.New("the manifests lack it")
	})
	i.Namespaces = namespacesOf(objects, d.Namespace)
	return i, err
}

// Find returns the installation in a namespace, or the only one of the cluster if the namespace is
// empty.
func Find(ctx context.Context, client kubernetes.Interface, namespace string) (Installation, error) {
	list, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: portforward.DefaultSelector, Limit: maxDeployments})
	switch {
	case apierrors.IsForbidden(err) && namespace == "":
		return Installation{}, fmt.Errorf("list Deployments of all namespaces: %w: name the namespace of Signpost with --namespace", err)
	case err != nil:
		return Installation{}, fmt.Errorf("list Deployments to find the installation: %w: check the kubeconfig; or name a config file with --config, or manifests with -f", kube.ExplainRequest(err))
	}
	var found []deployment
	for i := range list.Items {
		found = appendConfigured(found, &list.Items[i])
	}
	where := "all namespaces"
	if namespace != "" {
		where = "the namespace " + namespace
	}
	d, err := only(found, where+": ", fmt.Sprintf("name a config file with --config, manifests with -f, or a role, such as in %q", "signpost check controllers"), "name a namespace with --namespace, or one release: helm get manifest RELEASE | signpost check -f -")
	if err != nil {
		return Installation{}, err
	}
	return d.installation(func(name string) (*corev1.ConfigMap, error) {
		return client.CoreV1().ConfigMaps(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

// appendConfigured appends a Deployment that runs Signpost with a config file.
func appendConfigured(list []deployment, d *appsv1.Deployment) []deployment {
	key, value, _ := strings.Cut(portforward.DefaultSelector, "=")
	if d.Labels[key] != value {
		return list
	}
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		for _, arg := range c.Args {
			if file, ok := strings.CutPrefix(arg, configFlag); ok {
				return append(list, deployment{d, c, path.Clean(file)})
			}
		}
	}
	return list
}

// only returns the only Deployment of a list. Its errors begin with where, and end with an advice.
func only(list []deployment, where, ifNone, ifSeveral string) (deployment, error) {
	switch len(list) {
	case 1:
		return list[0], nil
	case 0:
		return deployment{}, fmt.Errorf("%sno Deployment has the label %s and a container with %s…: %s", where, portforward.DefaultSelector, configFlag, ifNone)
	}
	var names []string
	for _, d := range list {
		names = append(names, sanitize.Name(d.Namespace)+"/"+sanitize.Name(d.Name))
	}
	slices.Sort(names)
	return deployment{}, fmt.Errorf("%s%d installations (%s): %s", where, len(list), strings.Join(names, ", "), ifSeveral)
}

// installation reads the config file of a Deployment.
func (d deployment) installation(get func(name string) (*corev1.ConfigMap, error)) (Installation, error) {
	name, key, ok := d.configMap()
	if !ok {
		return Installation{}, fmt.Errorf("the Deployment %s/%s: its config file %s is in no ConfigMap: name the file with --config", sanitize.Name(d.Namespace), sanitize.Name(d.Name), sanitize.Name(d.path))
	}
	file := fmt.Sprintf("ConfigMap %s/%s", sanitize.Name(d.Namespace), sanitize.Name(name))
	c, err := get(name)
	if err != nil {
		return Installation{}, fmt.Errorf("get the %s with the config file of the Deployment %s: %w", file, sanitize.Name(d.Name), err)
	}
	text, ok := c.Data[key]
	if !ok {
		return Installation{}, fmt.Errorf("the %s lacks the key %s, which the Deployment %s reads its config from", file, sanitize.Name(key), sanitize.Name(d.Name))
	}
	return Installation{
		Deployment: types.NamespacedName{Namespace: d.Namespace, Name: d.Name},
		Account:    types.NamespacedName{Namespace: d.Namespace, Name: cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")},
		Arguments:  d.container.Args,
		Selector:   metav1.FormatLabelSelector(d.Spec.Selector), Mounted: d.mounted(),
		File: file + ":" + sanitize.Name(key), Config: []byte(text), secrets: d.secrets(), variables: d.variables(),
	}, nil
}

// mounted returns the Secrets without which the kubelet starts no pod.
func (d deployment) mounted() []string {
	var all []string
	required := func(name string, optional *bool) {
		if optional == nil || !*optional {
			all = append(all, name)
		}
	}
	for _, e := range d.container.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			required(e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Optional)
		}
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		for _, source := range secretsIn(v) {
			required(source.Name, source.Optional)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// namespacesOf returns the namespaces of objects, with an object in each, without those that the
// objects create, and without that of the release, which helm install --create-namespace creates.
func namespacesOf(objects []*unstructured.Unstructured, release string) map[string]string {
	var all map[string]string
	for _, o := range objects {
		if namespace := o.GetNamespace(); namespace != "" && namespace != release && all[namespace] == "" {
			if all == nil {
				all = map[string]string{}
			}
			all[namespace] = sanitize.Name(o.GetKind()) + " " + sanitize.Name(o.GetName())
		}
	}
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			delete(all, o.GetName())
		}
	}
	return all
}

// configMap returns the ConfigMap and the key with the config file.
func (d deployment) configMap() (name, key string, ok bool) {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.ConfigMap == nil {
			continue
		}
		for _, at := range d.mounts(v.Name) {
			if path.Dir(d.path) == at {
				return v.ConfigMap.Name, keyOf(v.ConfigMap.Items, path.Base(d.path)), true
			}
		}
	}
	return "", "", false
}

// mounts returns the paths at which a volume is mounted.
func (d deployment) mounts(volume string) []string {
	var at []string
	for _, m := range d.container.VolumeMounts {
		if m.Name == volume {
			at = append(at, path.Clean(m.MountPath))
		}
	}
	return at
}

// keyOf returns the key of a file in a volume: its name, unless the items of the volume map it.
func keyOf(items []corev1.KeyToPath, file string) string {
	for _, item := range items {
		if item.Path == file {
			return item.Key
		}
	}
	return file
}

// secrets returns the keys of Secrets that are variables or files of the container.
func (d deployment) secrets() map[string]secretKey {
	all := map[string]secretKey{}
	for _, e := range d.container.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			all["${"+e.Name+"}"] = secretKey{e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key}
		}
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		for _, at := range d.mounts(v.Name) {
			for _, source := range secretsIn(v) {
				for _, item := range source.Items {
					all[path.Join(at, item.Path)] = secretKey{source.Name, item.Key}
				}
			}
		}
	}
	return all
}

// variables returns the environment variables of the container with values in the Deployment
// itself.
func (d deployment) variables() map[string]string {
	all := map[string]string{}
	for _, e := range d.container.Env {
		if e.ValueFrom == nil {
			all[e.Name] = e.Value
		}
	}
	return all
}

func secretsIn(v corev1.Volume) (all []corev1.SecretProjection) {
	if s := v.Secret; s != nil {
		all = append(all, corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: s.SecretName}, Items: s.Items, Optional: s.Optional})
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				all = append(all, *source.Secret)
			}
		}
	}
	return all
}

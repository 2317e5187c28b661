package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/sanitize"
)

// needs returns a result for each object that the installation needs and that doesn't exist.
func (a checker) needs(ctx context.Context) (results []Result) {
	for _, name := range slices.Sorted(maps.Keys(a.Needs.Namespaces)) {
		_, err := a.own.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		results = append(results, absent(err, "the namespace "+sanitize.Name(name),
			fmt.Sprintf("%s of the manifests can't be created in it", a.Needs.Namespaces[name]),
			"kubectl create namespace "+sanitize.Name(name)+", or choose another one in the values")...)
	}
	for _, name := range a.Needs.Secrets {
		_, err := a.own.CoreV1().Secrets(a.Pods.Namespace).Get(ctx, name, metav1.GetOptions{})
		results = append(results, absent(err, fmt.Sprintf("the Secret %s/%s", a.Pods.Namespace, sanitize.Name(name)), "no pod starts", "create it first")...)
	}
	return results
}

// absent returns a result if the request for an object failed.
func absent(err error, object, effect, hint string) []Result {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return []Result{{State: Failed, Text: fmt.Sprintf("%s doesn't exist: %s", object, effect), Hint: hint}}
	case apierrors.IsForbidden(err):
		return []Result{{State: Note, Text: fmt.Sprintf("whether %s exists isn't known, because you may not get it", object)}}
	default:
		return []Result{{State: Unknown, Text: fmt.Sprintf("whether %s exists: %s", object, reason(err))}}
	}
}

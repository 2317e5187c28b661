package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// pollInterval is the time between two looks at a condition of the cluster.
const pollInterval = 50 * time.Millisecond

// namesGrace is how long names may be refused. It is not nothing, because the definition that holds
// them may be about to give them up: the API server looks at the definitions one after the other.
const namesGrace = 3 * time.Second

// definition is one CustomResourceDefinition of the directory.
type definition struct {
	name string
	file string // for messages
	body []byte // JSON
}

// applyCRDs applies all definitions of a directory and waits until the API server serves them.
func applyCRDs(ctx context.Context, config *rest.Config, dir string) (int, error) {
	definitions, err := readCRDs(dir)
	if err != nil {
		return 0, err
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return 0, fmt.Errorf("make client for CRDs: %w", err)
	}
	force := true
	for _, d := range definitions {
		options := metav1.PatchOptions{FieldManager: "localcluster", Force: &force}
		_, err := client.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, d.name, types.ApplyPatchType, d.body, options)
		if err != nil {
			return 0, fmt.Errorf("apply CRD %s of %s: %w", d.name, d.file, err)
		}
	}
	for _, d := range definitions {
		if err := d.waitServed(ctx, client); err != nil {
			return 0, fmt.Errorf("wait for CRD %s of %s: %w", d.name, d.file, err)
		}
	}
	return len(definitions), nil
}

// waitServed returns when clients can use the definition, or when it is clear that they never will.
func (d definition) waitServed(ctx context.Context, client apiextensions.Interface) error {
	var missing error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		err := d.served(ctx, client)
		if ctx.Err() == nil {
			missing = err // at the end of the time, the last real answer says more than "deadline exceeded"
		}
		if refused := (refusal{}); errors.As(err, &refused) {
			return false, refused
		}
		return err == nil, nil
	})
	if ctx.Err() == nil {
		return err
	}
	if missing == nil {
		missing = errors.New("the API server was not asked yet")
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
}

// refusal is an answer that waiting does not change.
type refusal struct{ message string }

// Error says why the names were refused.
func (r refusal) Error() string {
	return fmt.Sprintf("its names are refused: %s; change them, or delete the definition that has them", r.message)
}

// served returns nil when the API server has established the definition and offers it in every
// version. The second does not follow from the first: it comes a moment later, and on a second
// start the definition is established from the first one, whatever was changed in it since.
func (d definition) served(ctx context.Context, client apiextensions.Interface) error {
	crd, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, d.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	established := false
	for _, condition := range crd.Status.Conditions {
		switch condition.Type {
		case apiextensionsv1.Established:
			established = condition.Status == apiextensionsv1.ConditionTrue
		case apiextensionsv1.NamesAccepted:
			if condition.Status == apiextensionsv1.ConditionFalse && time.Since(condition.LastTransitionTime.Time) > namesGrace {
				return refusal{condition.Message}
			}
		}
	}
	if !established {
		return fmt.Errorf("it is not established: %s", describe(crd.Status.Conditions))
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		group := crd.Spec.Group + "/" + version.Name
		list, err := client.Discovery().ServerResourcesForGroupVersion(group)
		if err != nil {
			return fmt.Errorf("look for it in %s: %w", group, err)
		}
		offered := func(resource metav1.APIResource) bool { return resource.Name == crd.Spec.Names.Plural }
		if !slices.ContainsFunc(list.APIResources, offered) {
			return fmt.Errorf("the API server does not offer it in %s", group)
		}
	}
	return nil
}

// describe says what the API server thinks of a definition.
func describe(conditions []apiextensionsv1.CustomResourceDefinitionCondition) string {
	if len(conditions) == 0 {
		return "the API server has not looked at it yet"
	}
	var texts []string
	for _, condition := range conditions {
		texts = append(texts, fmt.Sprintf("%s is %s (%s)", condition.Type, condition.Status, condition.Message))
	}
	return strings.Join(texts, ", ")
}

// readCRDs returns the definitions of a directory, in the order of the files.
func readCRDs(dir string) ([]definition, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list CRDs of %s: %w", dir, err)
	}
	var definitions []definition
	files := map[string]string{}
	for _, path := range paths {
		more, err := readDefinitions(path)
		if err != nil {
			return nil, fmt.Errorf("read CRDs of %s: %w", path, err)
		}
		for _, d := range more {
			if other, taken := files[d.name]; taken {
				return nil, fmt.Errorf("read CRDs of %s: %s was already defined in %s: delete one of them", path, d.name, other)
			}
			files[d.name] = path
			definitions = append(definitions, d)
		}
	}
	return definitions, nil
}

// readDefinitions returns the documents of one file.
func readDefinitions(path string) ([]definition, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var definitions []definition
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var document map[string]any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return definitions, nil
		}
		if err != nil {
			return nil, err
		}
		if len(document) == 0 {
			continue // an empty document, or only comments
		}
		name, err := definitionName(document)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		definitions = append(definitions, definition{name: name, file: path, body: body})
	}
}

func definitionName(document map[string]any) (string, error) {
	if document["apiVersion"] != apiextensionsv1.SchemeGroupVersion.String() || document["kind"] != "CustomResourceDefinition" {
		return "", fmt.Errorf("a document is %v %v, not a CustomResourceDefinition of %s",
			document["apiVersion"], document["kind"], apiextensionsv1.SchemeGroupVersion)
	}
	metadata, _ := document["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" {
		return "", errors.New("a CustomResourceDefinition has no name")
	}
	delete(document, "status") // controller-gen writes one; it is not ours to apply
	return name, nil
}

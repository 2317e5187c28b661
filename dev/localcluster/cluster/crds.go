package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	force := true
	for name, body := range definitions {
		options := metav1.PatchOptions{FieldManager: "localcluster", Force: &force}
		if _, err := crds.Patch(ctx, name, types.ApplyPatchType, body, options); err != nil {
			return 0, fmt.Errorf("apply CRD %s: %w", name, err)
		}
	}
	for name := range definitions {
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			crd, err := crds.Get(ctx, name, metav1.GetOptions{})
			return err == nil && established(crd), err
		})
		if err != nil {
			return 0, fmt.Errorf("wait for CRD %s to be established: %w", name, err)
		}
	}
	return len(definitions), nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// readCRDs returns the definitions of a directory as JSON, by name.
func readCRDs(dir string) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list CRDs of %s: %w", dir, err)
	}
	definitions := map[string][]byte{}
	for _, path := range paths {
		if err := readDefinitions(path, definitions); err != nil {
			return nil, fmt.Errorf("read CRDs of %s: %w", path, err)
		}
	}
	return definitions, nil
}

// readDefinitions adds the documents of one file.
func readDefinitions(path string, definitions map[string][]byte) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var document map[string]any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(document) == 0 {
			continue // an empty document, or only comments
		}
		name, err := definitionName(document)
		if err != nil {
			return err
		}
		if definitions[name], err = json.Marshal(document); err != nil {
			return err
		}
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

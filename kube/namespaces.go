package kube

import (
	"errors"
	"fmt"
	"slices"
)

// MaxNamespaces is the largest number of namespaces that a [Cluster] watches separately. Each costs a
// permanent request and 20 kB of memory per kind.
const MaxNamespaces = 100

func checkNamespaces(names []string) error {
	if len(names) > MaxNamespaces {
		return fmt.Errorf("%d namespaces: at most %d can be read one by one; read all", len(names), MaxNamespaces)
	}
	for i, name := range names {
		if name == "" {
			return errors.New("a namespace has no name; name none to read all")
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("the namespace %s is there twice; name it once", name)
		}
	}
	return nil
}

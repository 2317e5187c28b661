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
		return fmt.Errorf("%d namespaces: at most %d can be read separately; read all", len(names), MaxNamespaces)
	}
	for i, name := range names {
		if name == "" {
			return errors.New("a namespace is empty; list none to read all")
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("namespace %s is listed twice; remove one", name)
		}
	}
	return nil
}

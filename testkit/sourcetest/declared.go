package sourcetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
)

// Undeclared returns an error if the tables of a source and its Resources differ.
func Undeclared(s source.Source, resources []source.Resource) error {
	var undeclared, unread []schema.GroupResource
	for _, r := range resources {
		unread = append(unread, r.GroupResource())
	}
	for _, table := range s.Tables {
		read := table.Resource().GroupResource()
		if !slices.ContainsFunc(resources, func(r source.Resource) bool { return r.GroupResource() == read }) {
			undeclared = append(undeclared, read)
		}
		unread = slices.DeleteFunc(unread, func(r schema.GroupResource) bool { return r == read })
	}
	if len(undeclared)+len(unread) == 0 {
		return nil
	}
	return fmt.Errorf("the source reads %v, which aren't among its Resources, and doesn't read %v, which are", undeclared, unread)
}

// Undocumented returns an error if a source of objects doesn't declare its annotations, or has no example of
// them among its scenarios.
func Undocumented(plugin source.Plugin, dir string) error {
	objects := plugin.Reads != "" || len(plugin.New().Resources()) > 0
	if objects && plugin.Annotations == nil {
		return fmt.Errorf("source %s doesn't say which annotations it reads: set Annotations, or else NoAnnotations", plugin.Name)
	}
	if len(plugin.Annotations) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "example.txtar")); err != nil {
		return fmt.Errorf("source %s reads annotations and has no example of them, which docs/dns/examples.md shows: write one: %w", plugin.Name, err)
	}
	return nil
}

package sourcetest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
)

// Undeclared returns an error if a source has a table for none of its resources, or a resource
// that it has no table for.
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

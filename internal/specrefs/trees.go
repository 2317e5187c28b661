package specrefs

import "strings"

// The documents.
const (
	destination = "destination.md"
	endpoints   = "endpoints.md"
	dns         = "dns.md"
	clouds      = "clouds.md"
	xds         = "xds.md"
)

// A tree is a directory, or a file, whose citations need not name their document.
type tree struct {
	path string
	// section is the document of a section that is cited without one; "" if the document must be named.
	section string
	// cases are the documents whose cases may be cited by name, in the order of the search.
	cases []string
}

// trees are searched from the top, so a tree inside another one comes before it.
var trees = []tree{
	{path: "catalog", section: destination, cases: []string{destination, endpoints}},
	{path: "destination", section: destination, cases: []string{destination, endpoints}},
	{path: "kube", section: destination, cases: []string{destination, endpoints}},
	{path: "app/process/testdata/script", section: destination, cases: []string{destination}},
	{path: "controllers/externalworkloads", section: destination, cases: []string{destination, endpoints}},
	{path: "controllers", section: endpoints, cases: []string{endpoints, destination}},
	{path: "dns", section: dns, cases: []string{dns, clouds}},
	{path: "cmd/signpost/testdata/plan", section: dns, cases: []string{dns}},
	{path: "docs/dns", section: dns, cases: []string{dns, clouds}},
	{path: "docs/dns.md", section: dns, cases: []string{dns, clouds}},
	{path: "xds", section: xds, cases: []string{xds}},
	{path: "dev/xds", section: xds, cases: []string{xds}},
	{path: "docs/xds", section: xds, cases: []string{xds}},
	{path: "docs/xds.md", section: xds, cases: []string{xds}},
	{path: "docs/spec/xds.md", section: xds, cases: []string{xds}},
	{path: "docs/spec/destination.md", section: destination, cases: []string{destination, endpoints}},
	{path: "docs/spec/endpoints.md", section: endpoints, cases: []string{endpoints, destination}},
	{path: "docs/spec/dns.md", section: dns, cases: []string{dns}},
	{path: "docs/spec/clouds.md", section: clouds, cases: []string{clouds}},
}

// treeOf returns the tree of a file, if it is in one.
func treeOf(path string) (t tree, known bool) {
	for _, t := range trees {
		if path == t.path || strings.HasPrefix(path, t.path+"/") {
			return t, true
		}
	}
	return tree{}, false
}

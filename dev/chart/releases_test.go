package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Split-horizon V10: two releases in one namespace have a Lease each, with the rights to it, and no object
// and no selector in common. A release named signpost keeps the Lease of earlier versions; another one may
// read it, to wait for its own old pods.
func TestTwoReleases(t *testing.T) {
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(everything), &values); err != nil {
		t.Fatal(err)
	}
	delete(values, "destination")
	delete(values, "controllers")
	delete(values, "crds")
	known := map[string]string{}
	for release, lease := range map[string]string{"signpost": "signpost-dns", "private": "private-signpost-dns"} {
		objects, err := renderRelease(t, release, values, "dns")
		if err != nil {
			t.Fatal(err)
		}
		config := ""
		for _, o := range objects {
			key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
			if other, taken := known[key]; taken && other != release {
				t.Errorf("%s is in both releases", key)
			}
			known[key] = release
			if o.GetLabels()["app.kubernetes.io/instance"] != release && o.GetKind() != "Pod" {
				t.Errorf("%s has the labels %v", key, o.GetLabels())
			}
			if o.GetKind() == "ConfigMap" {
				config += fmt.Sprint(o.Object["data"])
			}
		}
		if named := strings.Contains(config, "resourceName: "+lease); named != (release != "signpost") {
			t.Errorf("the config of %s names its Lease: %v", release, named)
		}
		var writes, reads []string
		for _, r := range rightsOf(t, objects) {
			if r.resource == "leases" && r.verb == "update" {
				writes = append(writes, r.names...)
			}
			if r.resource == "leases" && r.verb == "get" {
				reads = append(reads, r.names...)
			}
		}
		if own := []string{lease}; !slices.Equal(writes, own) || !slices.Equal(reads, own) {
			t.Errorf("%s may write the Leases %v and read %v, want %v for both", release, writes, reads, own)
		}
	}
}

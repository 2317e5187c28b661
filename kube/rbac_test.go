package kube

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/kubetest"
)

const destinationRole = "../deploy/rbac/destination.yaml"

// The role grants the rights to read the kinds that have tables, and no others.
func TestRoleGrantsWhatTablesNeed(t *testing.T) {
	text, err := os.ReadFile(destinationRole)
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		t.Fatal(err)
	}
	var granted []string
	for _, r := range role.Rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				granted = append(granted, fmt.Sprint(group, "/", resource, " ", r.Verbs))
			}
		}
	}
	c, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, CatalogTables(newRecorder(), FromEndpointSlices)...)
	if err != nil {
		t.Fatal(err)
	}
	var needed []string
	for _, f := range c.feeds {
		needed = append(needed, f.resource.Group+"/"+f.resource.Resource+" [list watch]")
	}
	slices.Sort(granted)
	slices.Sort(needed)
	if diff := cmp.Diff(needed, granted); diff != "" {
		t.Errorf("%s (-needed +granted):\n%s", destinationRole, diff)
	}
}

// With the role, and nothing else, every table is filled by a real API server.
func TestRoleIsEnough(t *testing.T) {
	api := kubetest.Start(t)
	text, err := os.ReadFile(destinationRole)
	if err != nil {
		t.Fatal(err)
	}
	user := "role-" + api.Namespace(t)
	api.Apply(t, string(text)+strings.ReplaceAll(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: USER}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: signpost-destination}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`, "USER", user), "")
	t.Cleanup(func() {
		if err := api.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), user, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	cfg := rest.CopyConfig(api.Config)
	cfg.Impersonate.UserName = user
	r := newRecorder()
	c := run(t, cfg, r, CatalogTables(r, FromEndpointSlices)...)
	settle(t, c)
	for _, s := range c.Status() {
		await(t, c, s.Kind, Synced, "")
	}
}

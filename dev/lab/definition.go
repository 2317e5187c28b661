package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/dev/lab/schedule"
)

// definitions are the CustomResourceDefinitions of which a fault drops the version.
var definitions = []string{"externalworkloads.workload.linkerd.io", "serviceprofiles.linkerd.io"}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// otherVersion is the only served version of a definition while its own version is dropped.
const otherVersion = "v1lab1"

// dropVersion makes a definition serve its version under another name only. The stored objects don't change.
func (s *fixture) dropVersion(ctx context.Context, name string) (schedule.End, error) {
	client, err := dynamic.NewForConfig(s.rest)
	if err != nil {
		return nil, err
	}
	var before []any
	change := func(ctx context.Context, versions func([]any) []any) error {
		return await(ctx, "the definition "+name, 30*time.Second, func() (bool, error) {
			crd, err := client.Resource(crds).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			old, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
			if err != nil {
				return false, err
			}
			if err := unstructured.SetNestedSlice(crd.Object, versions(old), "spec", "versions"); err != nil {
				return false, err
			}
			_, err = client.Resource(crds).Update(ctx, crd, metav1.UpdateOptions{})
			if apierrors.IsInvalid(err) {
				return false, fmt.Errorf("the lab has made a definition that is none: %w", err)
			}
			return err == nil, err
		})
	}
	err = change(ctx, func(versions []any) []any {
		before = versions
		return withOtherVersion(versions)
	})
	return func(ctx context.Context) error {
		return change(ctx, func([]any) []any { return before })
	}, err
}

// withOtherVersion returns versions with a copy of the stored one, which alone is served.
func withOtherVersion(versions []any) []any {
	var all []any
	for _, v := range versions {
		version := maps.Clone(v.(map[string]any))
		if version["name"] == otherVersion {
			continue
		}
		version["served"] = false
		all = append(all, version)
		if version["storage"] == true {
			other := maps.Clone(version)
			other["name"], other["served"], other["storage"] = otherVersion, true, false
			all = append(all, other)
		}
	}
	return all
}

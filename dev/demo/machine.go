package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed vm.yaml
var vm []byte

var externalWorkloads = schema.GroupVersionResource{Group: "workload.linkerd.io", Version: "v1beta1", Resource: "externalworkloads"}

// machine shows how a machine outside of the cluster joins, and leaves.
func (s *environment) machine(ctx context.Context) error {
	say("kubectl apply -f dev/demo/vm.yaml: a machine outside of the cluster joins, as an ExternalWorkload that the Service selects")
	if err := s.report(ctx, "True"); err != nil {
		return err
	}
	if err := s.seen(ctx, 11, 5); err != nil {
		return err
	}
	if err := s.showSlices(ctx, 5); err != nil {
		return err
	}
	if err := s.machineSlices(ctx, 1); err != nil {
		return err
	}
	say("Its status turns to Ready=False, and back to True")
	if err := s.report(ctx, "False"); err != nil {
		return err
	}
	if err := s.seen(ctx, 11, 6); err != nil {
		return err
	}
	if err := s.report(ctx, "True"); err != nil {
		return err
	}
	if err := s.seen(ctx, 12, 6); err != nil {
		return err
	}
	say("kubectl -n shop delete externalworkload vm-1")
	if err := s.dynamic.Resource(externalWorkloads).Namespace("shop").Delete(ctx, "vm-1", metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete externalworkload vm-1: %w", err)
	}
	if err := s.seen(ctx, 12, 7); err != nil {
		return err
	}
	return s.machineSlices(ctx, 0)
}

// report applies the machine with a status of its condition Ready, as its own agent would.
func (s *environment) report(ctx context.Context, ready string) error {
	text := bytes.Replace(vm, []byte(`status: "True"`), []byte(`status: "`+ready+`"`), 1)
	return s.manifests.ApplyAll(ctx, bytes.NewReader(text), "shop")
}

// machineSlices waits until web has this many EndpointSlices for ExternalWorkloads.
func (s *environment) machineSlices(ctx context.Context, count int) error {
	return s.waitFor(ctx, "the EndpointSlice of the machine", time.Minute, func() (bool, error) {
		list, err := s.slicesOf(ctx, "web")
		if err != nil {
			return false, err
		}
		var names []string
		for _, slice := range list {
			if strings.HasPrefix(slice.Name, "linkerd-external-web-") {
				names = append(names, slice.Name)
			}
		}
		return len(names) == count, fmt.Errorf("web has the EndpointSlices %q for ExternalWorkloads, want %d", names, count)
	})
}

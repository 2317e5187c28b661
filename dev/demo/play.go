package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	authority = "web.shop.svc.cluster.local:80"
	token     = `{"ns":"shop","nodeName":"node-0"}`
)

// play tells the story.
func (s *environment) play(ctx context.Context) error {
	if err := s.get(ctx, "db-0.db.shop.svc.cluster.local:5432", "pod/db-0"); err != nil {
		return err
	}
	if err := s.get(ctx, "jobs.shop.svc.cluster.local:80", "pod/jobs"); err != nil {
		return err
	}
	say("Watching as a proxy on node-0 does: signpost get %s --token '%s' --watch", authority, token)
	if err := s.start(s.stream.print, "bin/signpost", "get", authority, "--addr", s.grpc, "--token", token, "--watch"); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{s.opening, s.scale, s.restart, s.calls, s.machine, s.profiles, s.names} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// get shows what a client that asks once receives: one endpoint, of this workload.
func (s *environment) get(ctx context.Context, name, workload string) error {
	say("Asking once: signpost get %s", name)
	out, err := exec.CommandContext(ctx, "bin/signpost", "get", name, "--addr", s.grpc).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		fmt.Println("  " + line)
	}
	if err != nil {
		return fmt.Errorf("signpost get %s: %w", name, err)
	}
	if len(lines) != 2 || !strings.Contains(lines[1], workload) {
		return fmt.Errorf("signpost get %s: want one endpoint, %s", name, workload)
	}
	return nil
}

func (s *environment) opening(ctx context.Context) error { return s.seen(ctx, 3, 0) }

func (s *environment) scale(ctx context.Context) error {
	say("kubectl -n shop scale deployment web --replicas 5")
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}, Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if _, err := s.client.AppsV1().Deployments("shop").UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale deployment web: %w", err)
	}
	return s.seen(ctx, 5, 0)
}

func (s *environment) restart(ctx context.Context) error {
	say("kubectl -n shop rollout restart deployment web")
	if err := s.replaceAll(ctx, "web", 5); err != nil {
		return err
	}
	return s.seen(ctx, 10, 5)
}

// replaceAll replaces all pods of a Deployment, and waits for the new ones.
func (s *environment) replaceAll(ctx context.Context, name string, replicas int32) error {
	restart := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339))
	if _, err := s.client.AppsV1().Deployments("shop").Patch(ctx, name, types.StrategicMergePatchType, []byte(restart), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("restart deployment %s: %w", name, err)
	}
	return s.rolledOut(ctx, name, replicas)
}

// rolledOut waits until a Deployment has replicas pods of its latest version, and no others.
func (s *environment) rolledOut(ctx context.Context, name string, replicas int32) error {
	return s.waitFor(ctx, "the rollout", 2*time.Minute, func() (bool, error) {
		d, err := s.client.AppsV1().Deployments("shop").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return complete(d, replicas), fmt.Errorf("deployment %s is at %+v", name, d.Status)
	})
}

func complete(d *appsv1.Deployment, replicas int32) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas && s.Replicas == replicas
}

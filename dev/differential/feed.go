package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// feed knows what is in a cluster, and when something last changed in each namespace.
// Its methods may be called from any goroutine.
type feed struct {
	factory informers.SharedInformerFactory

	mu      sync.Mutex
	changed map[string]time.Time // by namespace
}

// startFeed watches a cluster until the context ends, and returns when everything has been read once.
func startFeed(ctx context.Context, client kubernetes.Interface) (*feed, error) {
	f := &feed{factory: informers.NewSharedInformerFactory(client, 0), changed: map[string]time.Time{}}
	for _, informer := range []cache.SharedIndexInformer{
		f.factory.Core().V1().Endpoints().Informer(), f.factory.Discovery().V1().EndpointSlices().Informer(),
		f.factory.Core().V1().Services().Informer(), f.factory.Core().V1().Pods().Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: f.note, UpdateFunc: func(_, now any) { f.note(now) }, DeleteFunc: f.note,
		})
		if err != nil {
			return nil, err
		}
	}
	f.factory.StartWithContext(ctx)
	for kind, synced := range f.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("watch the cluster: %v was not read before the end", kind)
		}
	}
	return f, nil
}

func (f *feed) note(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if o, err := meta.Accessor(object); err == nil {
		f.mark(o.GetNamespace())
	}
}

// mark says that something changes in a namespace now.
func (f *feed) mark(namespace string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed[namespace] = time.Now()
}

// quietFor returns for how long nothing has changed in a namespace.
func (f *feed) quietFor(namespace string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.changed[namespace])
}

// clusterState is what a namespace of one cluster has.
type clusterState struct {
	services  []*corev1.Service
	pods      []*corev1.Pod
	endpoints []*corev1.Endpoints
	slices    []*discoveryv1.EndpointSlice
}

// clusterState returns what a namespace has now. The objects must not be changed.
func (f *feed) clusterState(namespace string) (clusterState, error) {
	var w clusterState
	var errs [4]error
	core := f.factory.Core().V1()
	w.services, errs[0] = core.Services().Lister().Services(namespace).List(labels.Everything())
	w.pods, errs[1] = core.Pods().Lister().Pods(namespace).List(labels.Everything())
	w.endpoints, errs[2] = core.Endpoints().Lister().Endpoints(namespace).List(labels.Everything())
	w.slices, errs[3] = f.factory.Discovery().V1().EndpointSlices().Lister().EndpointSlices(namespace).List(labels.Everything())
	return w, errors.Join(errs[:]...)
}

package kubetest

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fill sets every field of the object, to find out which fields something depends on.
func Fill(object any) { fill(reflect.ValueOf(object).Elem(), 0) }

// fill sets every field to a value, and every list to two elements.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1700000000, 0).UTC())))
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("2")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprint("some-", depth))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(7)
	}
}

// FullPod returns a pod with every field set, to meaningful values where kinds read them.
func FullPod() *corev1.Pod {
	pod := &corev1.Pod{}
	Fill(pod)
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			always := corev1.ContainerRestartPolicyAlways
			containers[i].RestartPolicy = &always
		}
		containers[1].Name = "linkerd-proxy"
		containers[1].Env[0].Name = "LINKERD2_PROXY_INBOUND_LISTEN_ADDR"
	}
	pod.Annotations = map[string]string{"config.linkerd.io/opaque-ports": "80", "config.linkerd.io/skip-inbound-ports": "81"}
	pod.OwnerReferences = pod.OwnerReferences[:1]
	pod.Status.Conditions[1].Type = corev1.PodReady
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	pod.Status.HostIPs = []corev1.HostIP{{IP: "10.1.0.1"}}
	return pod
}

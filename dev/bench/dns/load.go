package dns

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
)

const (
	dnsZone            = "bench.example"
	dnsHostnameOf      = "external-dns.alpha.kubernetes.io/hostname"
	dnsNamespace       = "bench-dns"
	dnsOwnershipPrefix = "a-"
	dnsOwnershipLabel  = "external-dns/owner=default"
)

func dnsLabel(i int) string { return fmt.Sprintf("web-%04d", i) }

// dnsName is the name that a Service asks for.
func dnsName(i int) string { return dnsLabel(i) + "." + dnsZone + "." }

// dnsAddress is the address that the cloud gives a Service.
func dnsAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18, byte(i / 250), byte(1 + i%250)})
}

// load creates the Services, with addresses.
func (d *run) load(ctx context.Context) error {
	var err error
	if d.client, err = d.cluster.QuickClient(); err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: dnsNamespace}}
	if _, err := d.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	return measure.ForEach(ctx, d.services, func(ctx context.Context, i int) error {
		if err := d.create(ctx, i); err != nil {
			return err
		}
		return d.setAddress(ctx, i)
	})
}

func dnsServiceMeta(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: dnsNamespace, Name: dnsLabel(i),
		Annotations: map[string]string{dnsHostnameOf: dnsLabel(i) + "." + dnsZone},
	}
}

// create creates a Service that waits for its address.
func (d *run) create(ctx context.Context, i int) error {
	s := &corev1.Service{
		ObjectMeta: dnsServiceMeta(i),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: new(false),
			Selector: map[string]string{"app": dnsLabel(i)},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	if _, err := d.client.CoreV1().Services(dnsNamespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Service %s: %w", s.Name, err)
	}
	return nil
}

// setAddress gives a Service its address.
func (d *run) setAddress(ctx context.Context, i int) error {
	return d.setTarget(ctx, i, dnsAddress(i).String())
}

// setTarget writes the status as a cloud would, with nothing read before.
func (d *run) setTarget(ctx context.Context, i int, address string) error {
	s := &corev1.Service{
		ObjectMeta: dnsServiceMeta(i),
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
			Ingress: []corev1.LoadBalancerIngress{{IP: address, IPMode: new(corev1.LoadBalancerIPModeVIP)}},
		}},
	}
	if _, err := d.client.CoreV1().Services(dnsNamespace).UpdateStatus(ctx, s, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("give Service %s the address %s: %w", s.Name, address, err)
	}
	return nil
}

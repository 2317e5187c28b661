package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/app/inspectclient"
)

// cluster reads from the API server the pods, their logs, and the Leases and Events of their
// namespaces.
func (s *Source) cluster(ctx context.Context, m *masks) []inspectclient.File {
	if s.API == nil || len(s.Pods) == 0 {
		return nil
	}
	var files []inspectclient.File
	var namespaces []string
	for _, pod := range s.Pods {
		if !slices.Contains(namespaces, pod.Namespace) {
			namespaces = append(namespaces, pod.Namespace)
		}
		folder := "pods/" + pod.Namespace + "/" + pod.Name
		files = append(files, m.object(folder+"/pod.yaml", masked(pod), nil))
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			files = append(files, s.log(ctx, pod, name, folder+"/"+name+".log", false))
			if restarted(pod, name) {
				files = append(files, s.log(ctx, pod, name, folder+"/"+name+".previous.log", true))
			}
		}
	}
	for _, namespace := range namespaces {
		leases, err := s.API.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{Limit: maxEvents})
		if err == nil {
			for i := range leases.Items {
				leases.Items[i].ManagedFields, leases.Items[i].Annotations = nil, nil
			}
		}
		files = append(files, m.object("namespaces/"+namespace+"/leases.yaml", leases, err))
		events, err := s.API.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{Limit: 10 * maxEvents})
		if err == nil {
			events.Items = last(events.Items)
		}
		files = append(files, m.object("namespaces/"+namespace+"/events.yaml", events, err))
	}
	return files
}

func last(events []corev1.Event) []corev1.Event {
	at := func(e *corev1.Event) metav1.Time {
		if !e.EventTime.IsZero() {
			return metav1.Time{Time: e.EventTime.Time}
		}
		return e.LastTimestamp
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return at(&b).Compare(at(&a).Time) })
	events = events[:min(len(events), maxEvents)]
	for i := range events {
		events[i].ManagedFields = nil
	}
	return events
}

func restarted(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container && s.RestartCount > 0 })
}

// object returns an object as YAML. Its secrets are masked in JSON, because YAML may break a line within one.
func (m *masks) object(name string, value any, err error) inspectclient.File {
	if err != nil {
		return inspectclient.File{Name: name, Err: err}
	}
	text, err := json.Marshal(value)
	if err == nil {
		text, err = yaml.JSONToYAML(m.mask(text))
	}
	return inspectclient.File{Name: name, Text: text, Err: err}
}

// log returns the end of the log of a container. The request has no limit in bytes, because with
// one a kubelet drops the newest of the last lines.
func (s *Source) log(ctx context.Context, pod *corev1.Pod, container, name string, previous bool) inspectclient.File {
	lines := int64(maxLines)
	stream, err := s.API.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: &lines, Timestamps: true}).Stream(ctx)
	if err != nil {
		return inspectclient.File{Name: name, Err: err}
	}
	defer stream.Close()
	var end tail
	_, err = io.Copy(&end, stream)
	text := end.text()
	switch {
	case err != nil:
		err = fmt.Errorf("read the log: %w", err)
	case end.cut:
		err = fmt.Errorf("only the last %d bytes are kept", maxLog)
	}
	return inspectclient.File{Name: name, Text: text, Err: err}
}

// tail is a writer that keeps the last maxLog bytes.
type tail struct {
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (t *tail) Write(text []byte) (int, error) {
	t.kept = append(t.kept, text...)
	if len(t.kept) > 2*maxLog { // so that each byte is moved once
		t.shorten()
	}
	return len(text), nil
}

func (t *tail) shorten() {
	if extra := len(t.kept) - maxLog; extra > 0 {
		t.cut, t.kept = true, append(t.kept[:0], t.kept[extra:]...)
	}
}

// text returns the kept bytes from the first complete line, because the rest of a line may have the
// end of a secret, which isn't masked.
func (t *tail) text() []byte {
	t.shorten()
	if !t.cut {
		return t.kept
	}
	_, lines, _ := bytes.Cut(t.kept, []byte{'\n'})
	return lines
}

package portforward

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// tokenSeconds is the lifetime of a token: the minimum that the API server allows.
const tokenSeconds = 600

// Token returns a token of a pod's service account, for one audience. Such a token is invalid for
// the API server and everything else, so it may be sent to a pod that only pretends to be Signpost.
// The user needs the right to create serviceaccounts/token in the namespace of the pod.
func (f *Found) Token(ctx context.Context, p Process, audience string) (string, error) {
	if p.Pod == nil || f.config == nil {
		return "", errors.New("there is no pod whose service account could get a token")
	}
	client, err := corev1client.NewForConfig(f.config)
	if err != nil {
		return "", fmt.Errorf("make a client of the API server: %w", err)
	}
	account, seconds := cmp.Or(p.Pod.Spec.ServiceAccountName, "default"), int64(tokenSeconds)
	made, err := client.ServiceAccounts(p.Pod.Namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("make a token of the service account %s/%s: %w: the right to create serviceaccounts/token is needed", p.Pod.Namespace, account, err)
	case err != nil:
		return "", fmt.Errorf("make a token of the service account %s/%s: %w", p.Pod.Namespace, account, err)
	}
	return made.Status.Token, nil
}

package awstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The credentials that test servers accept.
const (
	AccessKeyID     = "AKIDTEST"
	SecretAccessKey = "test-secret-key"
)

// Refusal is the error for an invalid signature.
type Refusal struct {
	Status        int
	Code, Message string
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$`)

// Signed checks the signature of a request to a service (AWS General Reference, Signature Version 4): it
// signs the request again with the secret, and compares. It returns nil if the signature is right.
func Signed(r *http.Request, body []byte, service string) *Refusal {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case m == nil || err != nil || m[3] != service:
		return &Refusal{http.StatusForbidden, "MissingAuthenticationToken", "Missing Authentication Token"}
	case m[1] != AccessKeyID:
		return &Refusal{http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid."}
	}
	again := r.Clone(context.Background())
	again.URL.Host, again.Host = r.Host, r.Host
	again.Header = http.Header{}
	for name := range strings.SplitSeq(m[4], ";") {
		if values := r.Header.Values(name); len(values) > 0 && name != "x-amz-date" {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	sum := sha256.Sum256(body)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = false })
	key := aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey, SessionToken: r.Header.Get("X-Amz-Security-Token")}
	if err := signer.SignHTTP(context.Background(), key, again, hex.EncodeToString(sum[:]), service, m[2], at); err != nil {
		return &Refusal{http.StatusBadRequest, "IncompleteSignature", err.Error()}
	}
	made := authorization.FindStringSubmatch(again.Header.Get("Authorization"))
	if made == nil || made[5] != m[5] {
		return &Refusal{http.StatusForbidden, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided."}
	}
	return nil
}

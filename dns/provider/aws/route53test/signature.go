package route53test

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

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/route53/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$`)

// signed checks the signature of a request (AWS General Reference, Signature Version 4). It
// signs the request again with the secret, and compares.
func signed(r *http.Request, body []byte) *Fault {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case m == nil || err != nil:
		return &Fault{Status: 403, Code: "MissingAuthenticationToken", Message: "Missing Authentication Token"}
	case m[1] != AccessKeyID:
		return &Fault{Status: 403, Code: "InvalidClientTokenId", Message: "The security token included in the request is invalid."}
	}
	again := r.Clone(context.Background())
	again.URL.Host, again.Host = r.Host, r.Host
	again.Header = http.Header{}
	for name := range strings.SplitSeq(m[3], ";") {
		if values := r.Header.Values(name); len(values) > 0 && name != "x-amz-date" {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	sum := sha256.Sum256(body)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = false })
	key := aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey, SessionToken: r.Header.Get("X-Amz-Security-Token")}
	if err := signer.SignHTTP(context.Background(), key, again, hex.EncodeToString(sum[:]), "route53", m[2], at); err != nil {
		return &Fault{Status: 400, Code: "IncompleteSignature", Message: err.Error()}
	}
	made := authorization.FindStringSubmatch(again.Header.Get("Authorization"))
	if made == nil || made[4] != m[4] {
		return &Fault{Status: 403, Code: "SignatureDoesNotMatch", Message: "The request signature we calculated does not match the signature you provided."}
	}
	return nil
}

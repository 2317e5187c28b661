package provider

import "github.com/signpostd/signpost/internal/certfiles"

// TLSFlags returns the names of the flags for [Input].TLS.
func TLSFlags() certfiles.ClientFiles {
	return certfiles.ClientFiles{CA: "--tls-ca", Cert: "--tls-client-cert", Key: "--tls-client-cert-key"}
}

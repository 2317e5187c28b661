package properties

import "github.com/signpostd/signpost/dns"

// Webhook declares the properties of programs that serve the webhook protocol.
func Webhook() dns.Declaration { return open("webhook") }

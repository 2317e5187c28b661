// Tests read the definitions of the kinds of the Gateway API from this version of its module
// (package dns/source/gateway). Nothing is compiled of it, so that nothing that Signpost is
// built with depends on it.
module github.com/signpostd/signpost/dev/gatewayapi

go 1.26.0

require sigs.k8s.io/gateway-api v1.6.2

// Tests read the definitions of Istio's kinds from this version of its module (packages
// dns/source/istiogateway and istiovirtualservice). Nothing is compiled of it, so that nothing
// that Signpost is built with depends on it.
module github.com/signpostd/signpost/dev/istioapi

go 1.26.0

require istio.io/api v1.31.4

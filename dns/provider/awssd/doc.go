// Package awssd is the provider "aws-sd": AWS Cloud Map (spec/dns.md §8.10, spec/clouds.md §2). It uses
// the SDK of AWS; dns/awsaccess says with which credentials.
//
// A name is a service of a namespace, and each of its targets an instance. All record sets of a
// name are in one service, with one description: the ownership text, which is listed as a label
// of each of them, and written from there (dns/owner, Descriptions). So the changes of a name are
// one unit: the provider looks what the service is like now, and takes the steps from there to
// what is wanted. If an answer is lost, it looks again, and takes the steps that are left. The
// types of records of a service can't change; then it is deleted and made anew.
//
// Cloud Map carries out most requests as operations, which are followed to their end. A listing
// asks for the instances of those services only whose revision has changed.
//
// Read it in this order: config.go, provider.go, namespaces.go, account.go, errors.go,
// operations.go, service.go, listing.go, apply.go, work.go.
//
// # Concurrency
//
// The provider may be called from any goroutine. It reads several services at a time, and changes
// several names at a time.
package awssd

// Package awssd is the provider "aws-sd" for AWS Cloud Map (spec/dns.md §8.10, spec/clouds.md §2).
// It uses the SDK of AWS, with the credentials of dns/awsaccess.
//
//   - A name is a service of a namespace, and each of its targets is an instance. All record sets
//     of a name are in one service, which has one description: the ownership text (dns/owner,
//     Descriptions).
//   - The provider reads the service, and takes the steps from there to the wanted state. If an
//     answer is lost, it reads the service again and takes the remaining steps.
//   - A service can't change the types of its records: the provider deletes and recreates it.
//   - Cloud Map carries out most requests as operations, which the provider follows to their end.
//   - A listing reads the instances only of services whose revision has changed.
//
// dns/plugins registers the provider.
//
// # Concurrency
//
// The provider may be called from any goroutine. It reads several services, and changes several
// names, at a time.
package awssd

// Package awsaccess configures the clients of Amazon Web Services: profile, role, region, retries
// and request rate. It also says what error codes mean for changes. Other settings come from the
// environment and the shared configuration files of AWS.
//
// The providers aws and awssd and the DynamoDB registry use it, so that the flags --aws-profile,
// --aws-assume-role and --aws-api-retries mean the same for all.
//
// # Concurrency
//
// Values are set before they are used. [Access.Load], [Account.Call], [LimitedTransport] and [Pace]
// may be used from any goroutine.
package awsaccess

// Package awsaccess says how Amazon Web Services are reached: with which profile, in which role
// and region, how often a request is tried, and how many are sent in a second. What isn't said comes from the environment and
// the files that all programs for AWS read.
//
// The providers aws and awssd, and the registry that keeps owners in DynamoDB, make their clients
// with it, so that the flags --aws-profile, --aws-assume-role and --aws-api-retries mean the same
// for all.
//
// Read it in this order: settings.go, access.go, gate.go, pace.go, codes.go.
//
// # Concurrency
//
// Values are set before they are used. [Access.Load], and what is made of [Gate] and [Pace], may be used from any
// goroutine.
package awsaccess

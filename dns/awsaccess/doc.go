// Package awsaccess says how Amazon Web Services are reached: with which profile, in which role
// and region, and how often a request is tried. What isn't said comes from the environment and
// the files that all programs for AWS read.
//
// The provider aws, and the registry that keeps owners in DynamoDB, make their clients with it,
// so that the flags --aws-profile, --aws-assume-role and --aws-api-retries mean the same for
// both.
//
// # Concurrency
//
// Values are set before they are used. [Access.Load] may be called from any goroutine.
package awsaccess

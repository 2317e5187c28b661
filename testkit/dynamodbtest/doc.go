// Package dynamodbtest is a DynamoDB for tests: a table in memory that answers the requests of
// the AWS SDK. It knows the operations and statements of package dynamodb only, and any other
// request fails the test.
//
// # Concurrency
//
// A [Table] serves requests from any goroutine. Its fields may be changed while nothing is
// called.
package dynamodbtest

// Package dynamodbtest is a DynamoDB for tests of package dynamodb: a table in memory, for requests of the
// AWS SDK. It implements only the operations and statements of that package; any other request fails the
// test.
//
// # Concurrency
//
// A [Table] serves requests from any goroutine. Its fields may be changed while nothing is called.
package dynamodbtest

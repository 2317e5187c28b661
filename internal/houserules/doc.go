// Package houserules checks rules of this repository that neither go vet nor staticcheck knows. The test of
// the module applies it to every Go file; nothing else uses it.
//
//   - No exported function or method takes a bool parameter ([Check]), because a call such as Put(pod, false)
//     doesn't say what is false. Write two functions, or pass a type that has a name for each choice. An
//     unexported function may take a bool.
//   - No command bypasses the writer that escapes control sequences of terminals ([CheckOutput]).
//
// Check skips tests, generated files and the module dev/localcluster.
//
// # Concurrency
//
// Both functions are pure and may be called from any goroutine.
package houserules

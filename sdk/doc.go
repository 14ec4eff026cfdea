// Package sdk registers the tools, prompts and resources of a plugin written in Go. Start with HandleTool and Serve.
//
// A plugin is a package main that fills a Plugin and serves it from an init function (a module is a library, so its main function never
// runs). A plugin.toml beside the package describes the same tools to the host:
//
//	func init() {
//		p := sdk.New()
//		sdk.HandleTool(p, "greet", greet)
//		sdk.Serve(p)
//	}
//
//	func main() {}
//
//	type person struct {
//		Name string `json:"name"`
//	}
//
//	func greet(ctx context.Context, who person) (*sdk.ToolResult, error) {
//		return sdk.Text("Hello, " + who.Name), nil
//	}
//
// `bulkhead plugin build` compiles the package (GOOS=wasip1, -buildmode=c-shared). In a test, package sdktest calls the same handlers
// natively. Files, clocks, randomness and the environment are available through the standard library, as far as the host grants them.
// Beyond WASI there are Log, Progress, Lock, HostCall and the typed operations in sub-packages such as sdk/git. Change files with
// sdk/atomicfile and sdk/transaction, since the host may terminate a call between any two instructions.
//
// At the start of a call, each variable of the module has either the value that it had after the init functions, or the value that an
// earlier call left: do not keep anything in a variable that a later call needs. If the host restores the memory after each call, math/rand
// repeats its numbers: use crypto/rand.
//
// Stability: exported names stay within a major version. If one is renamed, the old name stays as a deprecated alias. Modules that were
// built with an older version run on newer hosts.
package sdk

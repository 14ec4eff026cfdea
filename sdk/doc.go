// Package sdk is what a plugin written in Go registers its tools, prompts and resources with.
//
// A plugin is a package main that fills a Plugin and serves it from init (a module is a library: its
// main never runs), beside a plugin.toml that describes the same tools to the host:
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
// `bulkhead plugin build` compiles it (GOOS=wasip1, -buildmode=c-shared). Package sdktest calls the same
// handlers natively in a test. Files, clocks, randomness and the environment are those of the standard
// library, as far as the host grants them; what it offers beyond WASI is Log, Progress, Lock, HostCall and
// the typed operations in sub-packages such as sdk/git.
//
// The host may end a call between any two instructions, and every call may find the module's variables
// as they were when it was loaded, or as some earlier call left them: keep nothing in a variable that a
// call needs. Where the state is put back, math/rand repeats its numbers in every call: use crypto/rand.
package sdk

package host

import (
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/child"
)

// RunChild must be the first call in the main function of a program that opens a Host, and in TestMain of its
// tests: a Host compiles and runs modules in processes of their own, which are this same program. In such a
// process RunChild does the work and does not return. Otherwise it does nothing.
func RunChild() {
	reexec.Run(map[string]reexec.Main{
		reexec.Worker:   func([]string) int { return child.Main(gateway.CheckResult) },
		reexec.Compiler: code.ChildMain,
	})
}

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
)

const compileName = "compile-module"

// compilerCommand starts this program as the compiler of modules; empty where it cannot be found.
func compilerCommand() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, compileName}
}

// newCompile is the process in which a host compiles a module: it can be ended, and takes no more memory
// and time than it may.
func newCompile() *cobra.Command {
	return &cobra.Command{
		Use:     compileName + " DIR WORKERS SECONDS",
		Short:   "Compile the module on stdin into a folder (the host runs this)",
		Example: "  bulkhead " + compileName + " DIR 1 120 <frame",
		Hidden:  true,
		Args:    cobra.ExactArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := code.ParseChild(args)
			if err != nil {
				return &host.UsageError{Err: err}
			}
			if err := code.Child(config, c.InOrStdin()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return silent(code.ChildExit(err))
			}
			return nil
		},
	}
}

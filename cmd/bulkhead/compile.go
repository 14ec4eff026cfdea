package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
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

// newCompile is the process in which the host compiles a module: it can be ended, and takes no more memory
// and time than it may.
func newCompile() *cobra.Command {
	return &cobra.Command{
		Use:     compileName + " DIR WORKERS",
		Short:   "Compile the module on stdin into a folder (the host runs this)",
		Example: "  bulkhead " + compileName + " DIR 1 <module.wasm",
		Hidden:  true,
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			workers, err := strconv.Atoi(args[1])
			if err != nil || workers < 1 {
				return usage("workers: %q is not a number from 1 on", args[1])
			}
			err = engine.CompileStdin(c.Context(), c.InOrStdin(), args[0], workers)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return silent(engine.CompilerExit(err))
			}
			return nil
		},
	}
}

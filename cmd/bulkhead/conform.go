package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/conform"
)

func newPluginConform() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "conform FILE [flags]",
		Short: "Test an SDK's module with the ABI conformance kit",
		Long: fmt.Sprintf(`Test whether an SDK conforms to ABI %d. FILE is a module built with the SDK that has the
tools, prompts and resources of the conformance kit, which docs/conformance.md lists. The
host calls it as it calls plugins, with grants in a temporary directory, and compares the
responses with those of the kit's scenarios.

Exit codes: 0 all scenarios passed; 1 at least one failed; 2 FILE is not a module of the
kit.`, conform.ABI),
		Example: `  bulkhead plugin conform conformance.wasm
  bulkhead plugin conform conformance.wasm --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			results, err := conform.Run(c.Context(), args[0], buildOptions().CacheDir)
			if err != nil {
				return err
			}
			failed := 0
			for _, r := range results {
				if !r.Passed {
					failed++
				}
			}
			err = printResult(c, asJSON, map[string]any{"ok": failed == 0, "abi": conform.ABI, "scenarios": results}, func(w page) {
				printConformance(w, results, failed)
			})
			return resultError(err, failed == 0)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"abi\", \"scenarios\": [{\"file\", \"name\", \"passed\", \"detail\"}]}")
	c.ValidArgsFunction = completeModules
	return c
}

func printConformance(w page, results []conform.Result, failed int) {
	for _, r := range results {
		fmt.Fprintf(w, "%s  %s: %s", paintPassed(w.style, r.Passed), oneLine(r.File), oneLine(r.Name))
		if r.Detail != "" {
			fmt.Fprintf(w, ": %s", oneLine(r.Detail))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "ABI %d: %d passed, %d failed\n", conform.ABI, len(results)-failed, failed)
}

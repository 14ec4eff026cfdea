package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/conform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
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
			if problems := (tomlfile.Problems)(nil); errors.As(err, &problems) {
				return &usage.Error{Err: err}
			}
			if err != nil {
				return err
			}
			failed := 0
			for _, r := range results {
				if !r.Passed {
					failed++
				}
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), map[string]any{"ok": failed == 0, "abi": conform.ABI, "scenarios": results})
			} else {
				err = printConformance(c.OutOrStdout(), results, failed)
			}
			return resultError(err, failed == 0)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"abi\", \"scenarios\": [{\"file\", \"name\", \"passed\", \"detail\"}]}")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"wasm"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return c
}

func printConformance(to io.Writer, results []conform.Result, failed int) error {
	w, style := bufio.NewWriter(to), term.StyleOf(to)
	for _, r := range results {
		fmt.Fprintf(w, "%s  %s: %s", paintPassed(style, r.Passed), r.File, r.Name)
		if r.Detail != "" {
			fmt.Fprintf(w, ": %s", oneLine(r.Detail))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "ABI %d: %d passed, %d failed\n", conform.ABI, len(results)-failed, failed)
	return w.Flush()
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newPluginSchema() *cobra.Command {
	var tool string
	var write, asJSON bool
	c := &cobra.Command{
		Use:   "schema DIR [flags]",
		Short: "Derive schemas from the types of handlers",
		Long: `Print the schemas of the arguments and results of a plugin's tools as tables for the
manifest. The module derives them from the types of its handlers, so the plugin is built,
but not written to dist. A handler of json.RawMessage has no schema. Only the SDK for Go
derives schemas.

With --write the schemas are written into plugin.toml. One that agrees with the types is
not changed, so it may be narrower and have descriptions. In one that disagrees, properties
without a field are removed, missing ones are added, and those of a different type are
replaced, but keep their titles and descriptions. The rest of the file, with its comments,
is preserved.

Exit codes: 0 success; 2 the plugin is invalid, or the manifest cannot be edited.`,
		Example: `  bulkhead plugin schema plugins/openspec
  bulkhead plugin schema plugins/openspec --tool openspec_list --json
  bulkhead plugin schema . --write`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			options := buildOptions()
			options.Progress = tasksOn(os.Stderr, asJSON)
			derive := build.Schemas
			if write {
				derive = build.WriteSchemas
			}
			schemas, err := derive(c.Context(), args[0], tool, options)
			options.Progress.Close()
			if err != nil {
				return err
			}
			if asJSON {
				if schemas == nil {
					schemas = []build.ToolSchema{}
				}
				return printJSON(c.OutOrStdout(), map[string]any{"tools": schemas})
			}
			return printSchemas(c.OutOrStdout(), schemas, write)
		},
	}
	c.Flags().StringVar(&tool, "tool", "", "only the schemas of the tool `NAME`")
	c.Flags().BoolVar(&write, "write", false, "write the schemas into plugin.toml")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"tools\": [{\"name\", \"input\", \"output\", \"changed\"}]}")
	must(c.RegisterFlagCompletionFunc("tool", cobra.NoFileCompletions))
	completeDirs(c)
	return c
}

// printSchemas prints schemas as TOML, or what was written.
func printSchemas(to io.Writer, schemas []build.ToolSchema, written bool) error {
	w := bufio.NewWriter(to)
	if len(schemas) == 0 {
		fmt.Fprintln(w, "# no handler has types from which a schema can be derived")
	}
	for i, s := range schemas {
		name := visible.Text(s.Name)
		if written {
			done := "agrees"
			if s.Changed {
				done = "written"
			}
			fmt.Fprintf(w, "%-8s %s\n", done, name)
			continue
		}
		text, err := s.TOML()
		if err != nil {
			return &usage.Error{Err: fmt.Errorf("%s: %w", name, err)}
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "# %s\n%s", name, text) // TOML escapes what is invisible
	}
	return w.Flush()
}

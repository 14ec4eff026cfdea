package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scaffold"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newPluginImport() *cobra.Command {
	var dir, name string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import FILE [flags]",
		Short: "Write the manifest of a plugin of hyper-mcp",
		Long: `Import the module of a plugin of the MCP host hyper-mcp, which runs unmodified: create
a directory with a copy of the module, and a manifest with its tools, prompts and
resources.

The module runs in the sandbox, without access to anything, and is asked for what it
offers. The manifest requests no capabilities: comments in it name those that the module
could need, such as web requests. Every tool has access = "write", unless the module says
that it only reads. Review the manifest before you add the plugin.

An existing directory is not changed.`,
		Example: `  bulkhead plugin import hash.wasm
  bulkhead plugin import plugin.wasm --name hash --dir plugins --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := build.Import(c.Context(), args[0], name, buildOptions())
			if err != nil {
				return err
			}
			target := filepath.Join(dir, p.Name)
			if err := scaffold.Write(target, p.Files); err != nil {
				return &usage.Error{Err: err}
			}
			for _, w := range p.Warnings {
				fmt.Fprintf(os.Stderr, "left out: the module answered %s\n", oneLine(w))
			}
			return printResult(c, asJSON, struct {
				build.Imported
				Dir string `json:"dir"`
			}{p, target}, func(w page) { printImport(w, target, p) })
		},
	}
	c.Flags().StringVar(&name, "name", "", "`name` of the plugin and of the new directory (default: that of FILE)")
	c.Flags().StringVar(&dir, "dir", "", "existing `directory` in which the new one is created (default: the working directory)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"name\", \"dir\", \"interface\", \"sha256\", \"tools\", \"prompts\", \"resources\", \"needs\", \"warnings\"}")
	c.ValidArgsFunction = completeModules
	return c
}

func printImport(w io.Writer, target string, p build.Imported) {
	dir := visible.Text(target)
	for _, file := range slices.Sorted(maps.Keys(p.Files)) {
		fmt.Fprintf(w, "created  %s/%s\n", dir, file)
	}
	for _, list := range []struct {
		label string
		names []string
	}{{"tools", p.Tools}, {"prompts", p.Prompts}, {"offers", p.Resources}, {"could use", p.Needs}} {
		if len(list.names) > 0 {
			fmt.Fprintf(w, "  %-10s %s\n", list.label, oneLine(strings.Join(list.names, ", ")))
		}
	}
	fmt.Fprintf(w, "\nNext:\n\n  review %s/plugin.toml, and add the [capabilities] that the plugin needs\n", dir)
	fmt.Fprintf(w, "  bulkhead plugin check %s\n  bulkhead tools --plugins %s\n", dir, visible.Text(filepath.Dir(target)))
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scaffold"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newPluginNew() *cobra.Command {
	var o scaffold.Options
	var sdk string
	var asJSON bool
	c := &cobra.Command{
		Use:   "new NAME [flags]",
		Short: "Create the directory of a new plugin",
		Long: `Create the directory NAME with a plugin that builds as it is: a manifest, a tool with its
handler, a test where the language's SDK runs handlers natively, scenarios for
"bulkhead plugin test", and a readme with the next steps. --with adds prompts, resources,
and tools that use http and git.

The sources of the SDK are written to it, so that the plugin needs no published SDK.
With --sdk published it refers to the published one; the header of C is always copied.

With --lang go-command, it is a program without an SDK, built with GOOS=wasip1, that runs
once for each call.

An existing directory is not changed.`,
		Example: `  bulkhead plugin new notes
  bulkhead plugin new notes --with prompts,resources,http,git
  bulkhead plugin new notes --lang rust --dir plugins --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if sdk != "copy" && sdk != "published" {
				return usage.Errorf("--sdk %q is not one of copy, published", sdk)
			}
			o.Name, o.Published, o.Version = args[0], sdk == "published", version()
			r, err := scaffold.Create(o)
			if err != nil {
				return &usage.Error{Err: err}
			}
			return printResult(c, asJSON, r, func(w page) { printNew(w, r) })
		},
	}
	c.Flags().StringVar(&o.Language, "lang", "go", "`language`: "+strings.Join(scaffold.Languages(), ", "))
	c.Flags().StringSliceVar(&o.With, "with", nil, "what it shows beside a tool: some of `"+strings.Join(scaffold.Features, ",")+"`")
	c.Flags().StringVar(&o.Dir, "dir", "", "existing `directory` in which NAME is created (default: the working directory)")
	c.Flags().StringVar(&sdk, "sdk", "copy", "`SDK`: copy writes its sources beside the plugin, published refers to a release")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"name\", \"lang\", \"dir\", \"files\", \"sdk\", \"next\"}")
	must(c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(scaffold.Languages(), cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(scaffold.Features, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("sdk", cobra.FixedCompletions([]string{"copy", "published"}, cobra.ShellCompDirectiveNoFileComp)))
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func printNew(w io.Writer, r scaffold.Result) {
	dir := visible.Text(r.Dir)
	for _, file := range r.Files {
		fmt.Fprintf(w, "created  %s/%s\n", dir, file)
	}
	if r.SDK != "" {
		fmt.Fprintf(w, "created  %s/%s (the SDK)\n", dir, r.SDK)
	}
	fmt.Fprintf(w, "\nNext:\n\n  cd %s\n", dir)
	for _, command := range r.Next {
		fmt.Fprintf(w, "  %s\n", command)
	}
}

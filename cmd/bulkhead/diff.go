package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
)

func newDiff() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff OLD NEW [flags]",
		Short: "Compare what two versions of a plugin ask for",
		Long: `Compare the manifests of two built plugins: tools, descriptions, schemas, capabilities,
limits, identity. A + marks a change that asks for more: wider access, more tools or
texts for clients, or fewer checks by the host.

Exit codes: 0 NEW asks for no more than OLD; 1 NEW asks for more; 2 one of them is
invalid, or the module of NEW does not match its manifest.`,
		Example: `  bulkhead diff /opt/plugins/chant dist/plugins/chant
  bulkhead diff old new --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := install.Compare(host.Options{}, args[0], args[1])
			if err != nil {
				return err
			}
			err = printResult(c, asJSON, d, func(w page) { printDifference(w, d) })
			return resultError(err, !d.More)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"old\", \"new\", \"asks_for_more\", \"changes\": [{\"key\", \"words\", \"old\", \"new\", \"asks_for_more\"}]}")
	completeDirs(c)
	return c
}

func printDifference(w page, d install.Difference) {
	fmt.Fprintf(w, "old: %s\nnew: %s\n\n", oneLine(d.Old), oneLine(d.New))
	printManifestChanges(w, w.style, d)
}

func printManifestChanges(w io.Writer, style term.Style, d install.Difference) {
	for _, c := range d.Changes {
		mark := " "
		if c.More {
			mark = style.Warn("+")
		}
		fmt.Fprintf(w, "%s %s: %s\n", mark, oneLine(c.Key), excerpt(c.Words))
		if c.Old != "" {
			fmt.Fprintf(w, "      was: %s\n", excerpt(c.Old))
		}
		if c.New != "" {
			fmt.Fprintf(w, "      is:  %s\n", excerpt(c.New))
		}
	}
	switch {
	case len(d.Changes) == 0:
		fmt.Fprintln(w, "They are identical, including the module.")
	case d.More:
		fmt.Fprintln(w, "\nThe new one asks for more: see the lines with a +.")
	default:
		fmt.Fprintln(w, "\nThe new one asks for no more than the old one.")
	}
}

package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

func newDiff() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff OLD NEW [flags]",
		Short: "Say what a plugin asks for that an older one did not",
		Long: `Compare two built plugins by their manifests: tools, texts, schemas, capabilities, limits,
identity. What asks for more is marked with a +: more to reach, to offer or to tell a
client, or less that the host checks.

Exit codes: 0 NEW asks for no more than OLD; 1 it does; 2 one of them has faults, or the
module of NEW is not the one that its manifest names.`,
		Example: `  bulkhead diff /opt/plugins/chant dist/plugins/chant
  bulkhead diff old new --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := admin.Compare(host.Options{}, args[0], args[1])
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), d)
			} else {
				err = printDifference(c.OutOrStdout(), d)
			}
			return verdict(err, !d.More)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"old\", \"new\", \"asks_for_more\", \"changes\": [{\"key\", \"words\", \"old\", \"new\", \"asks_for_more\"}]}")
	completeDirs(c)
	return c
}

func printDifference(to io.Writer, d admin.Difference) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "old: %s\nnew: %s\n\n", line(d.Old), line(d.New))
	for _, c := range d.Changes {
		mark := " "
		if c.More {
			mark = "+"
		}
		fmt.Fprintf(w, "%s %s: %s\n", mark, line(c.Key), shown(c.Words))
		if c.Old != "" {
			fmt.Fprintf(w, "      was: %s\n", shown(c.Old))
		}
		if c.New != "" {
			fmt.Fprintf(w, "      is:  %s\n", shown(c.New))
		}
	}
	switch {
	case len(d.Changes) == 0:
		fmt.Fprintln(w, "They are the same, module and all.")
	case d.More:
		fmt.Fprintln(w, "\nThe new one asks for more: see the lines with a +.")
	default:
		fmt.Fprintln(w, "\nThe new one asks for no more than the old one.")
	}
	return w.Flush()
}

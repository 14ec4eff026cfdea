package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// newResource lists resources, or reads one.
func newResource() *cobra.Command {
	o := options{Options: host.Options{AllTools: true}}
	var asJSON bool
	c := &cobra.Command{
		Use:   "resource [URI] [flags]",
		Short: "List the resources that plugins offer, or read one",
		Long: `Without a URI, list the resources and resource templates that clients are offered. With
one, print the contents of that resource, unchanged unless stdout is a terminal.`,
		Example: `  bulkhead resource
  bulkhead resource openspec://specs
  bulkhead resource aam://config --json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeResources,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Requested = args[0]
			}
			return o.withHost(c, asJSON, func(h opened) error {
				if len(args) == 0 {
					return printList(c, h, asJSON, listResources, listRequest{abi.MethodResourcesTemplatesList, "resourceTemplates"})
				}
				return readResource(c, h, args[0], asJSON)
			})
		},
	}
	o.add(c, "warn")
	o.addAnswers(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"resources\", \"resourceTemplates\"}, or MCP's ReadResourceResult")
	return c
}

func readResource(c *cobra.Command, h opened, uri string, asJSON bool) error {
	answer, err := request(c.Context(), h, abi.MethodResourcesRead, map[string]string{"uri": uri})
	switch {
	case err != nil:
		return err
	case answer.Error != nil:
		return reportNotGot(c.Context(), h, answer, listResources, uri, "`bulkhead resource`")
	case asJSON:
		return printJSON(c.OutOrStdout(), answer.Result)
	}
	var r struct {
		Contents []struct {
			Text     *string `json:"text"`
			Blob     []byte  `json:"blob"`
			MIMEType string  `json:"mimeType"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(answer.Result, &r); err != nil {
		return fmt.Errorf("cannot parse the resource: %w", err)
	}
	w := c.OutOrStdout()
	for _, part := range r.Contents {
		switch {
		case part.Text != nil:
			_, err = io.WriteString(w, sanitizeFor(w, *part.Text))
		case term.IsTerminal(w):
			_, err = fmt.Fprintf(w, "[%d bytes of %s: send them to a file, or see them with --json]\n", len(part.Blob), oneLine(cmp.Or(part.MIMEType, "content")))
		default:
			_, err = w.Write(part.Blob)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// asking opens a host for one command that asks it something.
func (o *options) asking(c *cobra.Command, ask func(h *host.Host) error) error {
	h, err := o.open()
	if err != nil {
		return err
	}
	return errors.Join(ask(h), closeHost(c.Context(), h, os.Stderr))
}

// asked makes one request; its notifications go to stderr.
func asked(ctx context.Context, h *host.Host, method string, params any) (host.Answer, error) {
	answer, err := h.Ask(ctx, method, params, printNotice)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", method, err)
	}
	return answer, nil
}

// explain prints the error of an answer to stderr and gives its exit code.
func explain(a host.Answer) error {
	fmt.Fprintf(os.Stderr, "bulkhead: error %d: %s\n", a.Error.Code, visible.Text(a.Error.Message))
	return exitCode(a)
}

// shownTo is a plugin's text as w may have it: a terminal must not obey it.
func shownTo(w io.Writer, text string) string {
	if terminal(w) {
		return uncontrolled(text)
	}
	return text
}

// listed asks for all pages of a list and gives its items.
func listed(ctx context.Context, h *host.Host, method, member string) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	for cursor := ""; ; {
		params := map[string]string{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		answer, err := asked(ctx, h, method, params)
		if err != nil {
			return nil, err
		}
		if answer.Error != nil && answer.Error.Code == abi.CodeMethodNotFound {
			fmt.Fprintf(os.Stderr, "no plugin offers %s\n", member)
			return items, nil
		}
		if answer.Error != nil {
			return nil, explain(answer)
		}
		var page map[string]json.RawMessage
		var some []json.RawMessage
		if err := json.Unmarshal(answer.Result, &page); err != nil {
			return nil, fmt.Errorf("read the list: %w", err)
		}
		if err := json.Unmarshal(page[member], &some); err != nil {
			return nil, fmt.Errorf("read the list: %w", err)
		}
		items = append(items, some...)
		if page["nextCursor"] == nil {
			return items, nil
		}
		if err := json.Unmarshal(page["nextCursor"], &cursor); err != nil {
			return nil, fmt.Errorf("read the list: %w", err)
		}
	}
}

// printItems prints what tells the items of a list apart, and what they are.
func printItems(to io.Writer, items []json.RawMessage) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, raw := range items {
		var item struct {
			Name        string `json:"name"`
			Title       string `json:"title"`
			URI         string `json:"uri"`
			Template    string `json:"uriTemplate"`
			Description string `json:"description"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return fmt.Errorf("read the list: %w", err)
		}
		key := item.Name
		if other := item.URI + item.Template; other != "" {
			key = other
		}
		fmt.Fprintf(table, "%s\t%s\n", line(key), shown(firstLine(firstOf(item.Description, item.Title, item.Name))))
	}
	return table.Flush()
}

// list is a method that lists, and the member of its result that holds the list.
type list struct{ method, member string }

// printList prints one list or several.
func printList(c *cobra.Command, h *host.Host, asJSON bool, lists ...list) error {
	all := map[string][]json.RawMessage{}
	for _, l := range lists {
		items, err := listed(c.Context(), h, l.method, l.member)
		if err != nil {
			return err
		}
		all[l.member] = items
		if !asJSON {
			if err := printItems(c.OutOrStdout(), items); err != nil {
				return err
			}
		}
	}
	switch {
	case !asJSON:
		return nil
	case len(lists) == 1:
		return printJSON(c.OutOrStdout(), all[lists[0].member])
	}
	return printJSON(c.OutOrStdout(), all)
}

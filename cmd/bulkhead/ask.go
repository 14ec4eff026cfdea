package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// opened is an open host, and the client of its requests.
type opened struct {
	*host.Host
	shown  *notifications
	client host.Client
}

// withHost opens a host, calls ask with it, and closes it. Notifications and the log go to stderr, in lines unless asJSON is
// false and stderr is a terminal.
func (o *options) withHost(c *cobra.Command, asJSON bool, ask func(h opened) error) error {
	tasks := tasksOn(os.Stderr, asJSON)
	defer tasks.Close()
	o.stderr = tasks
	shown := &notifications{tasks: tasks}
	q, err := newQuestions(c.InOrStdin(), o.answers, shown.end)
	if err != nil {
		return err
	}
	h, err := o.open()
	if err != nil {
		return err
	}
	err = ask(opened{h, shown, host.Client{Notify: shown.add, Capabilities: q.capabilities(), Answer: q.answer, Approve: q.approver()}})
	return errors.Join(err, closeHost(c.Context(), h, os.Stderr))
}

// request makes one MCP request.
func request(ctx context.Context, h opened, method string, params any) (host.Answer, error) {
	defer h.shown.end()
	answer, err := h.Ask(ctx, method, params, h.client)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", method, err)
	}
	return answer, nil
}

// reportAnswerError prints the error of an answer to stderr and returns its exit status.
func reportAnswerError(a host.Answer) error {
	fmt.Fprintf(os.Stderr, "bulkhead: error %d: %s\n", a.Error.Code, visible.Text(a.Error.Message))
	return exitCode(a)
}

// reportNotGot prints the error of an answer to a request for a prompt or resource to stderr, with a remedy if the list of its kind lacks
// the requested name, and returns the exit status. command lists what there is.
func reportNotGot(ctx context.Context, h opened, a host.Answer, list listRequest, name, command string) error {
	switch a.Error.Code {
	case abi.CodeMethodNotFound:
		fmt.Fprintf(os.Stderr, "bulkhead: error %d: %s is unknown: no plugin offers %s\n", a.Error.Code, visible.Quote(name), list.member)
		return exitCode(a)
	case abi.CodeInvalidParams, abi.CodeResourceNotFound:
	default:
		return reportAnswerError(a)
	}
	status := reportAnswerError(a)
	items, err := listAll(ctx, h, list.method, list.member)
	if err != nil {
		return err
	}
	var known []string
	for _, raw := range items {
		var item listItem
		if err := json.Unmarshal(raw, &item); err != nil {
			return fmt.Errorf("cannot read the list: %w", err)
		}
		known = append(known, cmp.Or(item.URI, item.Name))
	}
	if !slices.Contains(known, name) {
		fmt.Fprintf(os.Stderr, "  remedy: %s\n", usage.DidYouMean(name, known, command+" lists all "+list.member))
	}
	return status
}

// sanitizeFor replaces characters in text of a plugin that a terminal would interpret, or that hide or reorder text, if w is a terminal.
func sanitizeFor(w io.Writer, text string) string {
	if term.IsTerminal(w) {
		return visible.Prose(text)
	}
	return text
}

// listAll requests all pages of a list and returns its items. If the method is not supported, the list is empty.
func listAll(ctx context.Context, h opened, method, member string) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	for cursor := ""; ; {
		params := map[string]string{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		answer, err := request(ctx, h, method, params)
		if err != nil {
			return nil, err
		}
		if answer.Error != nil && answer.Error.Code == abi.CodeMethodNotFound {
			fmt.Fprintf(os.Stderr, "no plugin offers %s\n", member)
			return items, nil
		}
		if answer.Error != nil {
			return nil, reportAnswerError(answer)
		}
		var page map[string]json.RawMessage
		var pageItems []json.RawMessage
		if err := json.Unmarshal(answer.Result, &page); err != nil {
			return nil, fmt.Errorf("cannot read the list: %w", err)
		}
		if err := json.Unmarshal(page[member], &pageItems); err != nil {
			return nil, fmt.Errorf("cannot read the list: %w", err)
		}
		items = append(items, pageItems...)
		if page["nextCursor"] == nil {
			return items, nil
		}
		if err := json.Unmarshal(page["nextCursor"], &cursor); err != nil {
			return nil, fmt.Errorf("cannot read the list: %w", err)
		}
	}
}

// printItems prints a line for each item: its key (URI, template or name) and a description.
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
			return fmt.Errorf("cannot read the list: %w", err)
		}
		key := item.Name
		if uri := item.URI + item.Template; uri != "" {
			key = uri
		}
		fmt.Fprintf(table, "%s\t%s\n", oneLine(key), excerpt(firstLine(cmp.Or(item.Description, item.Title, item.Name))))
	}
	return table.Flush()
}

// listRequest is a list method of MCP, and the member of its result that contains the list.
type listRequest struct{ method, member string }

var (
	listPrompts   = listRequest{abi.MethodPromptsList, "prompts"}
	listResources = listRequest{abi.MethodResourcesList, "resources"}
)

// printList prints the lists one after the other; as JSON, one list is printed as an array, several as an object.
func printList(c *cobra.Command, h opened, asJSON bool, lists ...listRequest) error {
	all := map[string][]json.RawMessage{}
	for _, l := range lists {
		items, err := listAll(c.Context(), h, l.method, l.member)
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

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// done is the past tense of actions.
var done = map[client.Action]string{
	client.ActionAdd: "Added %s to %s.", client.ActionUpdate: "Updated %s in %s.", client.ActionRemove: "Removed %s from %s.",
}

// apply makes the changes, and prints what the user has to do next. It continues after an error, since the files are independent.
func (a *clientCommand) apply(ctx context.Context, text io.Writer, changes []*client.Change) []error {
	var failed []error
	for _, change := range changes {
		if change.Action == client.ActionNone {
			continue
		}
		if err := change.Apply(ctx); err != nil {
			failed = append(failed, err)
			report(err)
			continue
		}
		fmt.Fprintf(text, "\n"+done[change.Action]+"\n", change.Name, change.Title)
		if len(change.Restores) > 0 {
			fmt.Fprintf(text, "  back    %s\n", oneLine(strings.Join(change.Restores, ", ")))
		}
		if change.Backup != "" {
			fmt.Fprintf(text, "  backup  %s\n", oneLine(change.Backup))
		}
		fmt.Fprintf(text, "  next    %s\n", change.Next)
	}
	return failed
}

func (a *clientCommand) printChanges(to io.Writer, changes []*client.Change) {
	w, style := bufio.NewWriter(to), term.StyleOf(to)
	defer w.Flush()
	for i, c := range changes {
		if i > 0 {
			fmt.Fprintln(w)
		}
		file := oneLine(c.File)
		if c.Target != "" {
			file += " -> " + oneLine(c.Target)
		}
		if c.Action == client.ActionNone {
			fmt.Fprintf(w, "%s: %s %s.\n", c.Title, file, a.none)
			continue
		}
		if c.Creates {
			file += " (new)"
		}
		fmt.Fprintf(w, "%s: %s, in %s\n\n", c.Title, file, oneLine(c.In))
		for _, line := range c.Diff {
			fmt.Fprintf(w, "  %s\n", paintChange(style, visible.Text(line)))
		}
		if line := c.CommandLine(); line != "" {
			fmt.Fprintf(w, "\n  by %s\n", oneLine(line))
		}
		for _, note := range c.Notes {
			fmt.Fprintf(w, "\n  note: %s\n", oneLine(note))
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/remedy"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	protocol "github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// auditCommand contains the flags of audit.
type auditCommand struct {
	host           host.Options
	file           string
	query          audit.Query
	outcomes       []string
	since          string
	follow, asJSON bool
	summary        bool
}

func newAudit() *cobra.Command {
	var a auditCommand
	c := &cobra.Command{
		Use:   "audit [flags]",
		Short: "Show the audit log",
		Long: `Show the calls and refusals that the audit log has, the oldest first, with those in rotated
files. [audit] in the config names the log. A line has time, outcome with its code, plugin,
tool (or prompt, resource, host operation), duration, client, principal, project and address.

With --follow, wait for more until Ctrl-C, also over rotations. Lines that are not records
are reported on stderr with file and line, and skipped. Records that the host could not
write are shown as a gap, whatever else is selected.

With --summary, show the numbers instead: calls, errors, durations, fuel, bytes and about how
many tokens, by tool and client; the slowest, what was refused and why, and the tools that are
granted and were not used. They are counted by the hour, in the state directory, so that only
new lines are read; they reach further back than the rotated files, by up to 400 days.

Exit codes: 0 success; 1 lines were skipped; 2 usage error, or no audit log is configured;
3 the log cannot be read.`,
		Example: `  bulkhead audit --since 1h
  bulkhead audit --plugin chant --tool 'chant_spec_*' --limit 20
  bulkhead audit --outcome denied --outcome failed --since 2026-11-22
  bulkhead audit --client 'token:*' --since 7d
  bulkhead audit --follow --json
  bulkhead audit --summary --since 7d
  bulkhead audit --summary --tool 'chant_*' --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.StringVar(&a.host.ConfigFile, "config", "", "config `file` that names the log (default: as for serve)")
	projectFlag(c, &a.host)
	f.StringVar(&a.file, "file", "", "read this `file` and those rotated from it, without a config")
	f.BoolVarP(&a.follow, "follow", "f", false, "wait for further records")
	f.StringArrayVar(&a.query.Plugins, "plugin", nil, "`name` of a plugin, repeatable")
	f.StringArrayVar(&a.query.Tools, "tool", nil, "`name` of a tool or prompt, or URI; * at the end stands for any rest; repeatable")
	f.StringArrayVar(&a.query.Clients, "client", nil, "`client`: the name of a token, the principal (token:ID, oauth:HEX, bearer, local) or the name\nthat a client reports; * at the end stands for any rest; repeatable")
	f.StringArrayVar(&a.outcomes, "outcome", nil, "`outcome`: "+strings.Join(outcomes(), ", ")+"; repeatable")
	f.StringVar(&a.since, "since", "", "earliest `time`: a duration back from now (30m, 1h, 7d), a date (2026-11-22),\na local time as it is shown (2026-11-22 10:00:00), or RFC 3339 (2026-11-22T10:00:00Z)")
	f.IntVar(&a.query.Limit, "limit", 0, "at most the newest `n` records (default: all); with --summary, at most n rows of each table (default 10)")
	f.BoolVar(&a.summary, "summary", false, "show numbers in place of records, by default those of the last 30 days")
	f.BoolVar(&a.asJSON, "json", false, "print the records as they are in the log, one JSON object per line; with --summary one\nobject: {\"from\", \"to\", \"total\", \"series\", \"tools\", \"plugins\", \"clients\", \"failed\", \"refused\", \"unused\"}")
	must(c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(outcomes(), cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("plugin", func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		return (&options{Options: a.host}).completePlugins(c, args, text)
	}))
	must(c.RegisterFlagCompletionFunc("tool", func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		return (&options{Options: a.host}).completeToolFlag(c, args, text)
	}))
	return c
}

func outcomes() []string {
	var all []string
	for _, o := range audit.Outcomes {
		all = append(all, string(o))
	}
	return all
}

func (a *auditCommand) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := a.parse(time.Now()); err != nil {
		return err
	}
	file, err := a.find()
	if err != nil {
		return err
	}
	if a.summary {
		return a.summarize(ctx, file, stdout, stderr)
	}
	finder := remedy.New(a.host, nil)
	a.query.Clients = finder.Selectors(a.query.Clients)
	skipped, style := false, term.StyleOf(stdout)
	damaged := func(d audit.Damage) {
		skipped = true
		fmt.Fprintf(stderr, "%s:%d: %s\n", oneLine(d.File), d.Line, oneLine(d.What))
	}
	show := func(e audit.Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if a.asJSON {
			return printRecord(stdout, e)
		}
		if name := finder.NameOf(e.Principal); name != "" {
			e.Principal = name + ", " + e.Principal
		}
		_, err := io.WriteString(stdout, formatEntry(style, e)+"\n")
		return err
	}
	if a.follow {
		err = audit.Follow(ctx, file, a.query, show, damaged)
	} else {
		err = audit.Read(file, a.query, show, damaged)
	}
	if errors.Is(err, fs.ErrNotExist) {
		reportNoLog(stderr, file)
		err = nil
	}
	if a.follow && ctx.Err() != nil {
		err = nil // with --follow, the command ends by a signal such as Ctrl-C
	}
	if err != nil {
		return err
	}
	return resultError(nil, !skipped)
}

func reportNoLog(stderr io.Writer, file string) {
	fmt.Fprintf(stderr, "%s does not exist yet: no call was made since it was configured\n", oneLine(file))
}

// parse parses the flags.
func (a *auditCommand) parse(now time.Time) error {
	for _, text := range a.outcomes {
		o := audit.Outcome(text)
		if !slices.Contains(audit.Outcomes, o) {
			return usage.Errorf("--outcome: %q is not one of %s", text, strings.Join(outcomes(), ", "))
		}
		a.query.Outcomes = append(a.query.Outcomes, o)
	}
	if a.file != "" && a.host.ConfigFile != "" {
		return usage.Errorf("--file and --config contradict each other: keep one of the two")
	}
	if a.query.Limit < 0 {
		return usage.Errorf("--limit: %d is negative", a.query.Limit)
	}
	if a.summary {
		switch {
		case a.follow:
			return usage.Errorf("--summary and --follow contradict each other: keep one of the two")
		case len(a.outcomes) > 0:
			return usage.Errorf("--outcome does not select the records of --summary, which has all outcomes: leave it out")
		case a.since == "":
			a.since = "30d"
		}
	}
	if a.since == "" {
		return nil
	}
	since, ok := parseTime(a.since, now, -1)
	if !ok {
		return usage.Errorf("--since: %q is neither a duration such as 30m, 1h or 7d, nor a date such as 2026-11-22, nor a time such as \"2026-11-22 10:00:00\" or 2026-11-22T10:00:00Z", a.since)
	}
	if a.summary && since.After(now) {
		return usage.Errorf("--since: %s is in the future", a.since)
	}
	a.query.Since = since
	return nil
}

// parseTime parses a time, or a duration from now: back if sign is -1, ahead if it is 1.
func parseTime(text string, now time.Time, sign int) (time.Time, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, sign*int(n)), true
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(time.Duration(sign) * d), true
	}
	for _, local := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(local, text, now.Location()); err == nil {
			return t, true
		}
	}
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

// find returns the log's file.
func (a *auditCommand) find() (string, error) {
	if a.file != "" {
		return a.file, nil
	}
	source, err := discovery.FindConfig(a.host)
	if err != nil {
		return "", err
	}
	if source.By == discovery.ByNothing {
		return "", usage.Errorf("no audit log is configured, as there is no config: add [audit] with a file to a bulkhead.toml, or name a log with --file")
	}
	found, err := discovery.Find(a.host)
	switch {
	case err != nil:
		return "", err
	case found.Untrusted != nil:
		return "", &usage.Error{Err: found.Untrusted}
	case found.Audit == nil:
		return "", usage.Errorf("%s configures no audit log: add the lines [audit] and file = \"${env:HOME}/.local/state/bulkhead/audit.jsonl\"", found.Config)
	}
	return found.Audit.File, nil
}

// printRecord prints the line of a record as it is in the log, with escapes for all invisible characters.
func printRecord(w io.Writer, e audit.Entry) error {
	var line bytes.Buffer
	if err := json.Compact(&line, e.Line); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", escapeInvisible(bytes.ToValidUTF8(line.Bytes(), []byte("\ufffd"))))
	return err
}

// formatEntry formats an entry as one line. The line contains a refused operation, but not the operations of a call.
func formatEntry(style term.Style, e audit.Entry) string {
	at := e.Time.Local().Format(time.DateTime)
	if e.Kind == audit.KindGap {
		return fmt.Sprintf("%s  %s  %d records were lost since %s: %s", at, paint(style, "gap"), e.Lost, e.Since.Local().Format(time.DateTime), excerpt(e.Cause))
	}
	outcome := oneLine(string(e.Outcome))
	painted := paint(style, outcome)
	if e.Code != "" {
		code := " (" + oneLine(e.Code) + ")"
		outcome, painted = outcome+code, painted+code
	}
	painted += strings.Repeat(" ", max(0, 22-utf8.RuneCountInString(outcome)))
	what := oneLine(e.Tool)
	if e.Method != "tools/call" {
		what = strings.TrimSpace(oneLine(e.Method) + " " + what)
	}
	if e.Kind == audit.KindRefused && len(e.Operations) > 0 {
		o := e.Operations[0]
		what = strings.TrimSpace(oneLine(o.Op)+" "+oneLine(o.Target)) + " in " + what
	}
	switch e.Kind {
	case audit.KindTask:
		what = "task of " + what
	case audit.KindServer, audit.KindPolicy, audit.KindTokens:
		what = strings.TrimSpace(oneLine(string(e.Kind)) + " " + what + " " + oneLine(strings.TrimSpace(e.Config+e.Subject+" "+e.Name)))
	}
	text := fmt.Sprintf("%s  %s  %-10s  %s", at, painted, oneLine(e.Plugin), what)
	if e.Kind == audit.KindCall {
		text += "  " + (time.Duration(e.Duration) * time.Microsecond).Round(roundingOf(e.Duration)).String()
	}
	if e.Via != "" {
		text += "  via " + oneLine(e.Via)
	}
	if e.Client != "" {
		text += "  " + oneLine(e.Client)
	}
	if e.Principal != "" && e.Principal != protocol.LocalID {
		text += "  (" + oneLine(e.Principal) + ")"
	}
	if e.Project != "" {
		text += "  project " + oneLine(e.Project)
	}
	if e.Address != "" {
		text += "  " + oneLine(e.Address)
	}
	if e.Reason != "" {
		text += "  " + oneLine(e.Reason)
	}
	if e.Further > 0 {
		text += fmt.Sprintf("  and %d earlier ones", e.Further)
	}
	return text
}

// roundingOf returns the unit to which a duration in microseconds is rounded, so that few digits are shown.
func roundingOf(microseconds int64) time.Duration {
	switch {
	case microseconds < 10_000:
		return 10 * time.Microsecond
	case microseconds < 10_000_000:
		return time.Millisecond
	}
	return 100 * time.Millisecond
}

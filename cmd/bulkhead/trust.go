package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// trustCommand contains the flags of trust.
type trustCommand struct {
	host                      host.Options
	yes, list, revoke, asJSON bool
}

func newTrust() *cobra.Command {
	var t trustCommand
	c := &cobra.Command{
		Use:   "trust [PATH] [flags]",
		Short: "Trust a config or plugins that the host discovers",
		Long: `Show the grants of a bulkhead.toml, or the plugins in a dist/plugins, and ask for consent
to use them where the host discovers them. They can be part of a project from an
untrusted author, so without consent the host serves no plugin there.

The record, in $XDG_STATE_HOME/bulkhead, contains the path and the SHA-256 of what was
shown, and of the files that it includes: any change invalidates it. Plugins that the config does not pin can change
without a new consent. A config that --config or $BULKHEAD_CONFIG names needs no trust,
nor does the user's, and neither do plugins that --plugins or $BULKHEAD_PLUGINS names.

PATH is a bulkhead.toml, its directory, or a dist/plugins; by default what the host
discovers: the bulkhead.toml in the working directory, else in the project, else
./dist/plugins.

Exit codes: 0 success; 1 no consent; 2 PATH cannot be trusted (it is invalid, or others
can write the records), or consent cannot be asked for.`,
		Example: `  bulkhead trust                        # what the host discovers here
  bulkhead trust ~/src/app --yes
  bulkhead trust dist/plugins
  bulkhead trust --list
  bulkhead trust --revoke ~/src/app/bulkhead.toml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := strings.Join(args, "")
			switch {
			case len(args) > 0 && path == "":
				return usage.Errorf("PATH is empty")
			case t.list && (t.revoke || path != "" || t.yes), t.revoke && t.yes:
				return usage.Errorf("--list, --revoke and --yes are mutually exclusive, and --list takes no PATH")
			case t.list:
				return t.printList(c)
			case t.revoke:
				return t.runRevoke(c.OutOrStdout(), path)
			}
			return t.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), path)
		},
	}
	f := c.Flags()
	projectFlag(c, &t.host)
	f.BoolVarP(&t.yes, "yes", "y", false, "trust it without a prompt")
	f.BoolVar(&t.list, "list", false, "list all trusted paths, and whether they have changed")
	f.BoolVar(&t.revoke, "revoke", false, "remove the record of the path")
	f.BoolVar(&t.asJSON, "json", false, "print JSON: {\"path\", \"kind\", \"state\", \"plugins\": […]}, with --list\n{\"trusted\": [{\"path\", \"state\", …}]}; never prompts: without --yes nothing is recorded")
	return c
}

func (t *trustCommand) run(ctx context.Context, stdin io.Reader, stdout io.Writer, path string) error {
	p, err := install.ProposeTrust(t.host, path)
	if err != nil {
		return err
	}
	asks := !t.yes && !t.asJSON
	if err := printPage(textOf(stdout, t.asJSON), func(w page) { printTrust(w, p) }); err != nil {
		return err
	}
	if asks && p.State == install.Trusted {
		fmt.Fprintf(stdout, "\n%s is already trusted.\n", oneLine(p.Path))
		return nil
	}
	if asks {
		if !term.IsTerminal(stdin) {
			return usage.Errorf("cannot ask for consent: pass --yes to trust it")
		}
		if err := confirm(ctx, stdin, fmt.Sprintf("Trust %s", oneLine(p.Path))); err != nil {
			return err
		}
	}
	if asks || t.yes {
		if err := p.Write(); err != nil {
			return err
		}
		printUnrecorded(p.Unrecorded)
	}
	if t.asJSON {
		return printJSON(stdout, p)
	}
	fmt.Fprintf(stdout, "\nTrusted %s, as it is now.\n", oneLine(p.Path))
	for _, reason := range p.NotKept {
		printNotKept(stdout, reason)
	}
	return nil
}

func (t *trustCommand) runRevoke(stdout io.Writer, path string) error {
	revoked, unrecorded, err := install.Revoke(t.host, path)
	if err != nil {
		return err
	}
	printUnrecorded(unrecorded)
	if t.asJSON {
		return printJSON(stdout, map[string]any{"revoked": revoked})
	}
	fmt.Fprintf(stdout, "%s is no longer trusted.\n", oneLine(revoked))
	return nil
}

func (t *trustCommand) printList(c *cobra.Command) error {
	list, err := install.ListTrust(t.host)
	perr := printResult(c, t.asJSON, map[string]any{"trusted": list}, func(w page) {
		for _, p := range list {
			fmt.Fprintf(w, "%-7s  %s  (since %s)\n", p.State, oneLine(p.Path), p.At.UTC().Format("2006-01-02 15:04 MST"))
		}
		if len(list) == 0 && err == nil {
			fmt.Fprintln(w, "Nothing is trusted.")
		}
	})
	if perr != nil {
		return perr
	}
	return err
}

// printTrust prints a summary of the grants.
func printTrust(w io.Writer, p *install.TrustProposal) {
	fmt.Fprintf(w, "%s\n", oneLine(p.Path))
	if p.State == install.Changed {
		fmt.Fprintf(w, "  changed since it was trusted on %s\n", p.Since.UTC().Format("2006-01-02 at 15:04 MST"))
	}
	for _, f := range p.Includes {
		fmt.Fprintf(w, "  includes   %s  %s\n", oneLine(f.Path), f.SHA256)
	}
	if p.Audit != "" {
		fmt.Fprintf(w, "  audit log  %s\n", oneLine(strings.Join(append([]string{p.Audit}, p.AuditAlso...), ", ")))
	}
	if len(p.Telemetry) > 0 {
		fmt.Fprintf(w, "  telemetry  %s\n", oneLine(strings.Join(p.Telemetry, ", ")))
	}
	if len(p.HTTP) > 0 {
		fmt.Fprintf(w, "  http       %s\n", oneLine(strings.Join(p.HTTP, ", ")))
	}
	for _, line := range p.Clients {
		fmt.Fprintf(w, "  client     %s\n", oneLine(line))
	}
	if len(p.Credentials) > 0 {
		fmt.Fprintf(w, "  credentials  %s\n", oneLine(strings.Join(p.Credentials, ", ")))
	}
	for _, c := range p.Catalogues {
		fmt.Fprintf(w, "  catalogue  %s, signed with %s\n", oneLine(c.From), c.Key)
	}
	for _, l := range p.Revocations {
		fmt.Fprintf(w, "  revoked    by the list %s, signed with %s\n", oneLine(l.From), l.Key)
	}
	if p.LacksRevocations() {
		fmt.Fprintf(w, "  revoked    nothing: no list of revoked plugins is named\n")
	}
	for _, names := range slices.Sorted(maps.Keys(p.Keys)) {
		fmt.Fprintf(w, "  keys       %s: %s\n", names, cmp.Or(strings.Join(p.Keys[names], ", "), "none"))
	}
	for _, plugin := range p.Plugins {
		printTrustedPlugin(w, plugin, p.Kind == install.TrustConfig)
	}
}

func printTrustedPlugin(w io.Writer, p explain.PluginPolicy, pins bool) {
	note := ""
	if pins && !p.Pinned {
		note = "  (not pinned: a program that can write there can change it)"
	}
	fmt.Fprintf(w, "\n%s  %s%s\n", strings.TrimSpace(oneLine(p.Name)+" "+oneLine(p.Version)), oneLine(cmp.Or(p.From, p.Dir)), note)
	if p.Problem != "" {
		fmt.Fprintf(w, "  left out: %s\n", excerpt(p.Problem))
	}
	if p.Policy == nil {
		return
	}
	offered, writes := 0, 0
	for _, t := range p.Tools {
		if t.Offered {
			offered++
			if t.Access == "write" {
				writes++
			}
		}
	}
	fmt.Fprintf(w, "  tools         %d, of which %d write, as its author says\n", offered, writes)
	for _, granted := range []struct {
		what string
		list []review.Grant
	}{{"directory", p.Folders}, {"repository", p.Repositories}, {"web server", p.Origins}, {"variable", p.Variables}, {"question", p.Questions}} {
		for _, g := range granted.list {
			more := strings.Join(append([]string{g.Access, g.More}, g.Remotes...), " ")
			fmt.Fprintf(w, "  %-12s  %s\n", granted.what, excerpt(g.What+"  "+more))
		}
	}
}

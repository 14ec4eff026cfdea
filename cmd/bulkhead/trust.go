package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
	"github.com/bulkhead-mcp/bulkhead/host/review"
)

// trusting are the flags of trust.
type trusting struct {
	host                      host.Options
	yes, list, revoke, asJSON bool
}

func newTrust() *cobra.Command {
	var t trusting
	c := &cobra.Command{
		Use:   "trust [PATH] [flags]",
		Short: "Agree to a config, or to plugins, that the host finds by itself",
		Long: `Show what a bulkhead.toml grants, or the plugins in a dist/plugins, and ask whether the
host may obey it where it finds it. Whoever wrote a project may have written these, so
without that the host serves nothing there.

Recorded are the path and the SHA-256 of what was shown, in $XDG_STATE_HOME/bulkhead:
what changes afterwards is not trusted any more. Of plugins that their config does not
pin, only the config is. A config that --config names needs no trust, nor do plugins that
--plugins or $BULKHEAD_PLUGINS names.

PATH is a bulkhead.toml, the folder that holds it, or a dist/plugins; by default what the
host finds: the bulkhead.toml in the working directory, else in the project, else
./dist/plugins.

Exit codes: 0 it is trusted, or no longer trusted; 1 the answer was no; 2 it cannot be
trusted, because it has faults, or its record cannot be written by the user alone; or there is
nobody to ask.`,
		Example: `  bulkhead trust                        # what the host finds here
  bulkhead trust ~/src/app --yes
  bulkhead trust dist/plugins
  bulkhead trust --list
  bulkhead trust --revoke ~/src/app/bulkhead.toml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := strings.Join(args, "")
			switch {
			case len(args) > 0 && path == "":
				return usage("an empty path cannot be trusted")
			case t.list && (t.revoke || path != "" || t.yes), t.revoke && t.yes:
				return usage("--list, --revoke and --yes go without each other, and --list without a path")
			case t.list:
				return t.printList(c.OutOrStdout())
			case t.revoke:
				return t.runRevoke(c.OutOrStdout(), path)
			}
			return t.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), path)
		},
	}
	f := c.Flags()
	projectFlag(c, &t.host)
	f.BoolVarP(&t.yes, "yes", "y", false, "trust it without being asked")
	f.BoolVar(&t.list, "list", false, "list what is trusted, and whether it has changed")
	f.BoolVar(&t.revoke, "revoke", false, "trust the path no longer")
	f.BoolVar(&t.asJSON, "json", false, "print JSON: {\"path\", \"kind\", \"state\", \"plugins\": […]}, with --list\n{\"trusted\": [{\"path\", \"state\", …}]}; does not ask: without --yes it only shows")
	return c
}

func (t *trusting) run(ctx context.Context, stdin io.Reader, stdout io.Writer, path string) error {
	p, err := admin.ProposeTrust(t.host, path)
	if err != nil {
		return err
	}
	asks := !t.yes && !t.asJSON
	if !t.asJSON {
		if err := printTrust(stdout, p); err != nil {
			return err
		}
	}
	if asks && p.State == admin.Trusted {
		fmt.Fprintf(stdout, "\n%s is trusted already.\n", line(p.Path))
		return nil
	}
	if asks {
		if !person(stdin) {
			return usage("there is nobody to ask: pass --yes to trust it")
		}
		if err := confirm(ctx, stdin, fmt.Sprintf("Trust %s", line(p.Path))); err != nil {
			return err
		}
	}
	if asks || t.yes {
		if err := p.Write(); err != nil {
			return err
		}
	}
	if t.asJSON {
		return printJSON(stdout, p)
	}
	fmt.Fprintf(stdout, "\nTrusted %s, as it is now.\n", line(p.Path))
	return nil
}

func (t *trusting) runRevoke(stdout io.Writer, path string) error {
	revoked, err := admin.Revoke(t.host, path)
	if err != nil {
		return err
	}
	if t.asJSON {
		return printJSON(stdout, map[string]any{"revoked": revoked})
	}
	fmt.Fprintf(stdout, "%s is no longer trusted.\n", line(revoked))
	return nil
}

func (t *trusting) printList(stdout io.Writer) error {
	list, err := admin.ListTrust(t.host)
	if t.asJSON {
		if perr := printJSON(stdout, map[string]any{"trusted": list}); perr != nil {
			return perr
		}
		return err
	}
	w := bufio.NewWriter(stdout)
	for _, p := range list {
		fmt.Fprintf(w, "%-7s  %s  (since %s)\n", p.State, line(p.Path), p.At.UTC().Format("2006-01-02 15:04 MST"))
	}
	if len(list) == 0 && err == nil {
		fmt.Fprintln(w, "Nothing is trusted.")
	}
	if ferr := w.Flush(); ferr != nil {
		return ferr
	}
	return err
}

// printTrust shows in short what a config grants.
func printTrust(to io.Writer, p *admin.TrustProposal) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s\n", line(p.Path))
	if p.State == admin.Changed {
		fmt.Fprintf(w, "  changed since it was trusted on %s\n", p.Since.UTC().Format("2006-01-02 at 15:04 MST"))
	}
	if p.Audit != "" {
		fmt.Fprintf(w, "  audit log  %s\n", line(p.Audit))
	}
	if len(p.Credentials) > 0 {
		fmt.Fprintf(w, "  credentials  %s\n", line(strings.Join(p.Credentials, ", ")))
	}
	for _, plugin := range p.Plugins {
		printTrustedPlugin(w, plugin, p.Kind == admin.TrustConfig)
	}
	return w.Flush()
}

func printTrustedPlugin(w io.Writer, p admin.PluginPolicy, pins bool) {
	note := ""
	if pins && !p.Pinned {
		note = "  (not pinned: whoever can write there can change it)"
	}
	fmt.Fprintf(w, "\n%s  %s%s\n", strings.TrimSpace(line(p.Name)+" "+line(p.Version)), line(p.Dir), note)
	if p.Problem != "" {
		fmt.Fprintf(w, "  left out: %s\n", shown(p.Problem))
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
	}{{"folder", p.Folders}, {"repository", p.Repositories}, {"web server", p.Origins}, {"variable", p.Variables}} {
		for _, g := range granted.list {
			more := strings.Join(append([]string{g.Access, g.More}, g.Remotes...), " ")
			fmt.Fprintf(w, "  %-12s  %s\n", granted.what, shown(g.What+"  "+more))
		}
	}
}

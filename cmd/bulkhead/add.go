package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

// adding are the flags of add.
type adding struct {
	host                host.Options
	plugin              admin.Addition
	yes, dryRun, asJSON bool
}

func newAdd() *cobra.Command {
	var a adding
	c := &cobra.Command{
		Use:   "add DIR [flags]",
		Short: "Review a plugin and add it to the config",
		Long: `Show what the built plugin in DIR asks for, ask whether to grant it, and write the
grant to bulkhead.toml, with the SHA-256 of its plugin.toml, which holds the module's:
what was reviewed is what runs, or nothing does. Comments and order of the file stay.

Granted is what the plugin asks for, spelled out in the file; what nobody should grant
by saying yes (the home folder, servers of the own network, the values of variables) is
shown with what to write. What is in the file can be narrowed there at any time.

Exit codes: 0 it was added; 1 the answer was no; 2 it cannot be added: a manifest or
config with faults, another module than the manifest's, a plugin, name or tool that is
there already; or there is nobody to ask.`,
		Example: `  bulkhead add dist/plugins/chant
  bulkhead add dist/plugins/chant --read-only --yes
  bulkhead add /opt/plugins/tracker --allow-tool 'tracker_get_*' --env TRACKER_USER
  bulkhead add dist/plugins/chant --dry-run         # only show what it asks for
  bulkhead add dist/plugins/chant --repin           # it was built again, and reviewed`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.plugin.Dir = args[0]
			return a.run(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
	a.flags(c)
	completeDirs(c)
	return c
}

func (a *adding) flags(c *cobra.Command) {
	f := c.Flags()
	configFlag(c, &a.host)
	f.BoolVarP(&a.yes, "yes", "y", false, "grant it without being asked")
	f.BoolVar(&a.plugin.ReadOnly, "read-only", false, "no tool that writes, every folder and repository only to read")
	f.BoolVar(&a.plugin.AllowWrite, "allow-write", false, "the word that a plugin with write = \"opt-in\" waits for")
	f.StringArrayVar(&a.plugin.AllowTools, "allow-tool", nil, "offer only tools whose own names match `pattern`, repeatable")
	f.StringArrayVar(&a.plugin.Env, "env", nil, "grant the variable `NAME`, with the value that it has where the host is started;\nrepeatable")
	f.StringVar(&a.plugin.Prefix, "prefix", "", "`text` before the name of each of its tools, as clients see it")
	f.BoolVar(&a.plugin.Repin, "repin", false, "the plugin is in the config: review it again, and change only its digest there")
	f.BoolVar(&a.dryRun, "dry-run", false, "show everything, change nothing")
	f.BoolVar(&a.asJSON, "json", false, "print JSON: {\"added\", \"config\", \"plugin\": {\"asks_for\", \"tools\", …}, \"table\"}; does not ask")
}

// configFlag gives c the flag that names the config.
func configFlag(c *cobra.Command, o *host.Options) {
	c.Flags().StringVar(&o.ConfigFile, "config", "", "config `file` (default: ./bulkhead.toml)")
	must(c.MarkFlagFilename("config", "toml"))
}

func (a *adding) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if a.plugin.Repin && (a.plugin.ReadOnly || a.plugin.AllowWrite || a.plugin.AllowTools != nil || a.plugin.Env != nil || a.plugin.Prefix != "") {
		return usage("--repin changes nothing but the digest: change the plugin's table in the config for the rest")
	}
	asks := !a.yes && !a.dryRun
	if asks && (a.asJSON || !person(stdin)) {
		return usage("there is nobody to ask: pass --yes to grant what the plugin asks for, or --dry-run to see what that is")
	}
	p, err := admin.Propose(a.host, a.plugin)
	if err != nil {
		return err
	}
	if !a.asJSON {
		printProposal(stdout, p)
	}
	if asks {
		what := "Add " + p.Plugin.Name + " to"
		if a.plugin.Repin {
			what = "Pin " + p.Plugin.Name + " as it is now in"
		}
		if err := confirm(ctx, stdin, fmt.Sprintf("%s %s", what, line(p.Config))); err != nil {
			return err
		}
	}
	if !a.dryRun {
		if err := p.Write(); err != nil {
			return err
		}
	}
	switch {
	case a.asJSON:
		return printJSON(stdout, struct {
			Added bool `json:"added"`
			*admin.Proposal
		}{!a.dryRun, p})
	case a.dryRun:
		fmt.Fprintln(stdout, "\nNothing was changed.")
	case a.plugin.Repin:
		fmt.Fprintf(stdout, "\nPinned %s in %s.\n", p.Plugin.Name, line(p.Config))
	default:
		fmt.Fprintf(stdout, "\nAdded %s to %s.\n", p.Plugin.Name, line(p.Config))
	}
	printConfigTrust(stdout, a.host, p.Trust)
	return nil
}

// person tells whether somebody can answer at a terminal.
func person(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// printConfigTrust says that a config that was changed is not trusted; where it was named, that is no matter.
func printConfigTrust(to io.Writer, o host.Options, t admin.ConfigTrust) {
	if words := t.Words(); words != "" && o.ConfigFile == "" {
		fmt.Fprintf(to, "%s.\n", line(words))
	}
}

// confirm asks and waits for a yes; anything else is a no, and so is an interrupt.
func confirm(ctx context.Context, stdin io.Reader, what string) error {
	fmt.Fprintf(os.Stderr, "\n%s? [y/N] ", what)
	answers := make(chan string, 1)
	go func() {
		// Where nothing can be read, nobody has said yes.
		answer, _ := bufio.NewReader(io.LimitReader(stdin, maxAnswer)).ReadString('\n')
		answers <- answer
	}()
	select {
	case answer := <-answers:
		if yes := strings.ToLower(strings.TrimSpace(answer)); yes == "y" || yes == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr)
	}
	fmt.Fprintln(os.Stderr, "Nothing was changed.")
	return silent(exitNo)
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64

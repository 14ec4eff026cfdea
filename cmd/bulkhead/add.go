package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// addCommand contains the flags of add.
type addCommand struct {
	host                host.Options
	plugin              install.Addition
	signer              string // flag --signer
	yes, dryRun, asJSON bool
}

func newAdd() *cobra.Command {
	var a addCommand
	c := &cobra.Command{
		Use:   "add REF [flags]",
		Short: "Review a plugin and add it to the config",
		Long: `Show what a plugin asks for, ask for consent, and write the grant to bulkhead.toml. The
grant contains the SHA-256 of plugin.toml, which contains that of the module: the host
runs exactly what was reviewed. Comments and order are preserved.

REF is one of:
  DIR                          directory of a built plugin
  FILE, file:FILE              archive of a plugin
  https://…#sha256=DIGEST      archive on a web server, with its digest
  oci://REGISTRY/NAME:TAG      plugin in a registry; access is that of docker login
  NAME, NAME@^1.4, NAME@1.4.2  plugin of a catalogue, or one that comes with the program:
                               see bulkhead search

An archive is fetched and checked, and kept in the store of the user once you agree. The
config then contains from, version and sha256 in place of a path, so that the same plugin
can be fetched on other machines: bulkhead update --pinned. If the archive is signed, the
signature must fit, and signer in the config names the key, with which later versions must
be signed too. --signer names the key that you know of the author.

With --repin, the plugin is compared with the version that is pinned: what it asks for,
and what the config grants it, before and after.

The file spells out every grant, and can be narrowed later. Requests that are too broad
to grant with a yes (the home directory, the public web, servers on your own network, the
values of variables) are shown with the lines that would grant them.

Exit codes: 0 added; 1 no consent; 2 it cannot be added (invalid manifest or config, a
module with a different digest, a duplicate plugin, name or tool), or consent cannot be
asked for.`,
		Example: `  bulkhead add dist/plugins/chant
  bulkhead add dist/plugins/chant --read-only --yes
  bulkhead add /opt/plugins/mcpkg --allow-tool '*_prompt' --env MCPKG_PROJECT
  bulkhead add chant-1.2.0.plugin.tar
  bulkhead add 'https://plugins.example/chant-1.2.0.plugin.tar#sha256=5c1e…'
  bulkhead add oci://plugins.example/chant:1.2.0 --signer RWQ…
  bulkhead add chant@^1.2
  bulkhead add dist/plugins/chant --dry-run         # only show what it asks for
  bulkhead add chant --dry-run --manifest           # and its manifest
  bulkhead add dist/plugins/chant --repin           # accept a new version`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c.Context(), args[0], c.InOrStdin(), c.OutOrStdout())
		},
	}
	a.flags(c)
	completeDirs(c)
	return c
}

func (a *addCommand) flags(c *cobra.Command) {
	f := c.Flags()
	configFlag(c, &a.host)
	f.BoolVarP(&a.yes, "yes", "y", false, "grant it without a prompt")
	f.BoolVar(&a.plugin.ReadOnly, "read-only", false, "no write tools, and read-only access to every directory and repository")
	f.BoolVar(&a.plugin.AllowWrite, "allow-write", false, "offer the write tools of a plugin with write = \"opt-in\"")
	f.StringArrayVar(&a.plugin.AllowTools, "allow-tool", nil, "offer only tools whose names, without prefix, match `pattern`; repeatable")
	f.StringArrayVar(&a.plugin.Env, "env", nil, "grant the variable `NAME`, with its value in the environment of the host;\nrepeatable")
	f.BoolVar(&a.plugin.PublicWeb, "public-web", false, publicWebUsage)
	f.StringVar(&a.signer, "signer", "", "public `key` with which the archive must be signed")
	f.StringVar(&a.plugin.Prefix, "prefix", "", "`prefix` of the names of its tools, as clients see them")
	f.BoolVar(&a.plugin.Repin, "repin", false, "review a plugin of the config again, and change only its digest there, and its\nreference and version")
	f.BoolVar(&a.plugin.ShowManifest, "manifest", false, "show the text of its plugin.toml too")
	f.BoolVar(&a.dryRun, "dry-run", false, "show everything, change nothing")
	f.BoolVar(&a.asJSON, "json", false, "print JSON: {\"added\", \"config\", \"plugin\": {\"asks_for\", \"tools\", …}, \"source\": {\"from\", \"archive\",\n\"size\", \"signer\", \"signer_known\", \"catalogue\"}, \"table\"}; never prompts")
}

// publicWebUsage describes the flag --public-web.
const publicWebUsage = "grant the public web to a plugin that asks for it: any web server with public addresses"

// configFlag defines --config on c.
func configFlag(c *cobra.Command, o *host.Options) {
	c.Flags().StringVar(&o.ConfigFile, "config", "", "config `file` (default: the one in force, else ./bulkhead.toml)")
}

func (a *addCommand) run(ctx context.Context, named string, stdin io.Reader, stdout io.Writer) (err error) {
	if a.plugin.Repin && (a.plugin.ReadOnly || a.plugin.AllowWrite || a.plugin.AllowTools != nil || a.plugin.Env != nil || a.plugin.PublicWeb || a.plugin.Prefix != "") {
		return usage.Errorf("--repin changes only the digest: edit the plugin's table in the config for other changes")
	}
	if err := a.stage(ctx, named); err != nil {
		return err
	}
	if a.plugin.Staged != nil {
		defer func() { err = errors.Join(err, a.plugin.Staged.Close()) }()
	}
	p, err := install.Propose(a.host, a.plugin)
	if err != nil {
		return err
	}
	text := textOf(stdout, a.asJSON)
	printProposal(text, p)
	fmt.Fprintf(text, "\nWith it, %s.\n", oneLine(p.List))
	if !a.yes && !a.dryRun {
		if a.asJSON || !term.IsTerminal(stdin) {
			return usage.Errorf("cannot ask for consent: pass --yes to grant what the plugin asks for, or --dry-run to only show it")
		}
		what := "Add " + p.Plugin.Name + " to"
		if a.plugin.Repin {
			what = "Pin " + p.Plugin.Name + " as it is now in"
		}
		if err := confirm(ctx, stdin, fmt.Sprintf("%s %s", what, oneLine(p.Config))); err != nil {
			return err
		}
	}
	if !a.dryRun {
		if err := p.Write(ctx); err != nil {
			return err
		}
		printUnrecorded(p.Unrecorded)
	}
	switch {
	case a.asJSON:
		return printJSON(stdout, struct {
			Added bool `json:"added"`
			*install.Proposal
		}{!a.dryRun, p})
	case a.dryRun:
		fmt.Fprintln(stdout, "\nNothing was changed.")
	case a.plugin.Repin:
		fmt.Fprintf(stdout, "\nPinned %s in %s.\n", p.Plugin.Name, oneLine(p.Config))
	default:
		fmt.Fprintf(stdout, "\nAdded %s to %s.\n", p.Plugin.Name, oneLine(p.Config))
	}
	printConfigTrust(stdout, a.host, p.Trust)
	printNotKept(stdout, p.NotKept)
	return nil
}

// stage fetches the plugin that a reference or a name stands for. A directory is not fetched.
func (a *addCommand) stage(ctx context.Context, named string) error {
	var key signature.Key
	var err error
	if a.signer != "" {
		if key, err = signature.ParseKey(a.signer); err != nil {
			return usage.Errorf("--signer: %q %w", a.signer, err)
		}
	}
	if catalogue.IsName(named) { // which version it stands for depends on what is revoked
		if err := a.fetchRevocations(ctx); err != nil {
			return err
		}
	}
	found, err := findNamed(ctx, a.host, named)
	if err != nil {
		return err
	}
	if found != nil && found.Dir == "" {
		if !a.plugin.Repin {
			if err := install.CheckNotInConfig(a.host, found.Name); err != nil {
				return err
			}
		}
		return withProgress(func(fetcher fetchers) (err error) {
			a.plugin.Staged, err = install.StageNamed(ctx, fetcher, found.sources, found.name, found.Found, key)
			return err
		})
	}
	work, err := os.Getwd()
	if err != nil {
		return err
	}
	if found != nil {
		named = found.Dir
	}
	r, err := source.Parse(named, work)
	if err != nil {
		return err
	}
	if r.Kind == source.Directory {
		if a.plugin.Dir = named; a.signer != "" {
			return usage.Errorf("--signer: a directory is not signed")
		}
		return nil
	}
	if err := a.fetchRevocations(ctx); err != nil {
		return err
	}
	return withProgress(func(fetcher fetchers) (err error) {
		a.plugin.Staged, err = install.Stage(ctx, fetcher(named), r, key)
		return err
	})
}

// fetchRevocations fetches the lists of revoked plugins, as update does, so that a plugin is added on a new machine, and a revoked one is not.
func (a *addCommand) fetchRevocations(ctx context.Context) error {
	return withProgress(func(fetcher fetchers) error {
		lists, err := install.FetchRevocations(ctx, a.host, fetcher)
		if errors.As(err, new(*discovery.UntrustedError)) {
			return nil // nothing is fetched for a config that is not trusted
		}
		for _, l := range lists {
			if l.State == install.Failed {
				fmt.Fprintf(os.Stderr, "%s list of revoked plugins %s: %s\n", paint(term.StyleOf(os.Stderr), "warning:"), oneLine(l.From), excerpt(l.Problem))
			}
		}
		return err
	})
}

// printNotKept says that the next review will have no comparison.
func printNotKept(to io.Writer, reason string) {
	if reason != "" {
		fmt.Fprintf(to, "The reviewed manifest is not kept, so the next version cannot be compared with it: %s.\n", oneLine(reason))
	}
}

// printConfigTrust warns that an edited config is not trusted. A config named with --config needs no trust record.
func printConfigTrust(to io.Writer, o host.Options, t install.ConfigTrust) {
	if message := t.Message(); message != "" && o.ConfigFile == "" {
		fmt.Fprintf(to, "%s.\n", oneLine(message))
	}
}

// confirm prompts for consent. Any answer other than yes is a refusal, and so is the end of ctx.
func confirm(ctx context.Context, stdin io.Reader, what string) error {
	answer := ask(ctx, stdin, maxConsent, fmt.Sprintf("\n%s? [y/N] ", what))
	if yes := strings.ToLower(strings.TrimSpace(answer)); yes == "y" || yes == "yes" {
		return nil
	}
	fmt.Fprintln(os.Stderr, "Nothing was changed.")
	return exitStatus(exitNo)
}

// ask prompts for a line of at most maxBytes, and returns the line. After a read error or the end of ctx it returns "".
func ask(ctx context.Context, stdin io.Reader, maxBytes int64, prompt string) string {
	fmt.Fprint(os.Stderr, prompt)
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(io.LimitReader(stdin, maxBytes)).ReadString('\n')
		answers <- answer
	}()
	select {
	case answer := <-answers:
		return answer
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr)
		return ""
	}
}

// maxConsent is the maximum size of the answer to confirm, in bytes.
const maxConsent = 64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

func newClient() *cobra.Command {
	c := &cobra.Command{
		Use:   "client",
		Short: "Add the server to MCP clients",
		Long: `Edit the configuration of MCP clients, so that they start the server, or use one at a URL.

The clients are ` + wrapped(client.IDs()) + `.`,
		Example: `  bulkhead client list
  bulkhead client add claude-code
  bulkhead client add --all --config ~/bulkhead.toml
  bulkhead client remove cursor`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newClientAdd(), newClientRemove(), newClientList())
	return c
}

// wrapped joins names by commas, and breaks the list into two lines.
func wrapped(names []string) string {
	half := (len(names) + 1) / 2
	return strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:], ", ")
}

// clientCommand contains the flags of client add and client remove.
type clientCommand struct {
	host                     host.Options
	options                  client.Options
	scope                    string
	all, yes, dryRun, asJSON bool

	plan func(c *client.Client, s client.System, o client.Options) (*client.Change, error)
	adds bool   // whether plan adds an entry
	none string // why the file of a client needs no change
	asks bool   // whether to ask for consent; begin sets it

	replace, publicWeb bool // only add has these
}

func knownClients(_ *cobra.Command, ids []string) error {
	_, err := client.FindAll(ids)
	return err
}

func (a *clientCommand) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.scope, "scope", string(client.UserScope), "whose `entry`: user (in all projects), or project (for everyone in it)")
	f.StringVar(&a.options.Name, "name", client.DefaultName, "`name` of the entry")
	f.StringVar(&a.host.Project, "project", "", "`directory` of the project: passed to the server, and used by --scope project\n(default there: as for serve)")
	f.BoolVarP(&a.yes, "yes", "y", false, "change the files without a prompt")
	f.BoolVar(&a.dryRun, "dry-run", false, "show everything, change nothing")
	f.BoolVar(&a.asJSON, "json", false, "print JSON: {\"changes\": [{\"client\", \"file\", \"action\", \"diff\", \"changed\", …}], \"errors\"};\nnever prompts")
	must(c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"user", "project"}, cobra.ShellCompDirectiveNoFileComp)))
}

// begin selects the system and the clients, and ends the change of a process that was killed.
func (a *clientCommand) begin(c *cobra.Command, ids []string) (client.System, []*client.Client, error) {
	a.asks = !a.yes && !a.dryRun
	if a.asks && (a.asJSON || !term.IsTerminal(c.InOrStdin())) {
		return client.System{}, nil, usage.Errorf("cannot ask for consent: pass --yes to change the files, or --dry-run to only show the difference")
	}
	system, which, err := a.complete(ids)
	if err != nil {
		return system, nil, err
	}
	if a.adds && a.options.URL == "" {
		if warning := system.Warning(); warning != "" {
			fmt.Fprintln(os.Stderr, "bulkhead: "+oneLine(warning))
		}
	}
	if a.dryRun {
		interrupted, err := client.IsInterrupted(system)
		if interrupted {
			fmt.Fprintln(os.Stderr, "bulkhead: an earlier change of clients was interrupted, or is in progress. The files are shown as it left them; the next change without --dry-run ends it")
		}
		return system, which, err
	}
	report, err := client.Recover(system)
	if report.Outcome != transaction.Nothing {
		fmt.Fprintf(os.Stderr, "bulkhead: an earlier change of clients was interrupted, and is now %s\n", report.Outcome)
	}
	for _, file := range report.Kept {
		fmt.Fprintf(os.Stderr, "bulkhead: %s was changed since, and is left as it is\n", oneLine(file))
	}
	return system, which, err
}

func (a *clientCommand) run(c *cobra.Command, ids []string) error {
	stdin, stdout := c.InOrStdin(), c.OutOrStdout()
	system, which, err := a.begin(c, ids)
	if err != nil {
		return err
	}
	changes, failed := []*client.Change{}, []error(nil)
	pending := 0
	for _, one := range which {
		options, err := a.optionsFor(c.Context(), stdin, one, system)
		var change *client.Change
		if err == nil {
			change, err = a.plan(one, system, options)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		changes = append(changes, change)
		if change.Action != client.ActionNone {
			pending++
		}
	}
	text := textOf(stdout, a.asJSON)
	a.printChanges(text, changes)
	for _, err := range failed {
		report(err)
	}
	if a.asks && pending > 0 {
		if err := confirm(c.Context(), stdin, fmt.Sprintf("Change %s", chart.Counted(pending, "file", "files"))); err != nil {
			return err
		}
	}
	if !a.dryRun {
		failed = append(failed, a.apply(c.Context(), text, changes)...)
	} else if pending > 0 {
		fmt.Fprintln(text, "\nNothing was changed.")
	}
	var left []client.Left
	if a.all && !a.adds {
		projects, err := install.TrustedProjects(a.host)
		if err != nil {
			report(err) // of the records that are ignored
		}
		left = client.LeftBy(changes, system, projects)
		printLeft(text, left)
	}
	if a.asJSON {
		texts := []string{}
		for _, err := range failed {
			texts = append(texts, err.Error())
		}
		result := map[string]any{"changes": changes, "errors": texts}
		if left != nil {
			result["left"] = left
		}
		if err := printJSON(stdout, result); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return exitStatus(exitUsage) // the errors have been printed
	}
	return nil
}

// complete returns the system and the clients that the flags and arguments select.
func (a *clientCommand) complete(ids []string) (client.System, []*client.Client, error) {
	if a.all == (len(ids) > 0) {
		return client.System{}, nil, usage.Errorf("name clients or pass --all: the clients are %s", strings.Join(client.IDs(), ", "))
	}
	a.options.Scope = client.Scope(a.scope)
	if a.options.Scope != client.UserScope && a.options.Scope != client.ProjectScope {
		return client.System{}, nil, usage.Errorf("--scope: %q is not user or project", a.scope)
	}
	for flag, path := range map[string]*string{"--config": &a.options.Serve.Config, "--plugins": &a.options.Serve.Plugins} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return client.System{}, nil, err
		}
		if err := client.CheckPath(absolute, flag == "--plugins"); err != nil {
			return client.System{}, nil, usage.Errorf("%s: %w", flag, err)
		}
		*path = absolute
	}
	o := a.host
	if client.IsVariable(o.Project) {
		a.options.Serve.Project, o.Project = o.Project, ""
	}
	system, err := client.NewSystem(o, runtime.GOOS)
	if err != nil {
		return system, nil, err
	}
	if o.Project != "" {
		a.options.Serve.Project = system.Project
	}
	if a.all {
		which := client.Installed(system, a.options.Scope)
		if len(which) == 0 {
			err = usage.Errorf("no installed client has a file for the scope %s: name a client: %s", a.scope, strings.Join(client.IDs(), ", "))
		}
		return system, which, err
	}
	which, err := client.FindAll(ids)
	return system, which, err
}

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/reference"
)

// replacement is a run of client add --replace.
type replacement struct {
	Changes []*client.Change   `json:"changes"`
	Servers []client.Reference `json:"servers"`
	Config  *install.Setup     `json:"config,omitempty"` // nil if no server is replaced
	Errors  []string           `json:"errors"`           // why clients are left out
}

// runReplace is run with the flag --replace: it changes the files of all clients and the config in one transaction.
func (a *clientCommand) runReplace(c *cobra.Command, ids []string) error {
	stdout := c.OutOrStdout()
	system, which, err := a.begin(c, ids)
	if err != nil {
		return err
	}
	r, err := a.planReplacement(c, system, which)
	if err != nil {
		return err
	}
	text := textOf(stdout, a.asJSON)
	a.printReplacement(text, r)
	for _, problem := range r.Errors {
		report(errors.New(problem))
	}
	if a.asks && len(r.Changes) > 0 {
		if err := confirm(c.Context(), c.InOrStdin(), "Replace these entries"); err != nil {
			return err
		}
	}
	switch {
	case len(r.Changes) == 0:
		fmt.Fprintln(text, "No entry can be replaced: nothing was changed.")
	case a.dryRun:
		fmt.Fprintln(text, "\nNothing was changed.")
	default:
		if err := a.applyReplacement(text, system, r); err != nil {
			return err
		}
	}
	if a.asJSON {
		if err := printJSON(stdout, r); err != nil {
			return err
		}
	}
	if len(r.Errors) > 0 {
		return exitStatus(exitUsage) // they have been printed
	}
	return nil
}

// planReplacement finds the entries of all clients, and prepares the changes. A client whose file cannot be changed is left out.
func (a *clientCommand) planReplacement(c *cobra.Command, system client.System, which []*client.Client) (*replacement, error) {
	problems, chosen := []string{}, map[*client.Client]client.Options{}
	for {
		r, failed, err := a.planReplacementOf(c, system, which, chosen)
		if failed == nil {
			r.Errors = problems
			return r, err
		}
		// The others again, since their entries alone decide about the config.
		problems = append(problems, err.Error())
		which = slices.DeleteFunc(slices.Clone(which), func(one *client.Client) bool { return one == failed })
	}
}

// planReplacementOf is planReplacement for clients whose files can be changed; otherwise it returns one that cannot, and why. It keeps the
// options of clients, so that the user is asked once.
func (a *clientCommand) planReplacementOf(c *cobra.Command, system client.System, which []*client.Client, chosen map[*client.Client]client.Options) (*replacement, *client.Client, error) {
	r := &replacement{Changes: []*client.Change{}, Servers: []client.Reference{}}
	var servers []*reference.Server
	for _, one := range which {
		found, err := client.References(one, system, a.options)
		if err != nil {
			return r, one, err
		}
		for _, entry := range found {
			r.Servers, servers = append(r.Servers, entry), append(servers, entry.Server)
		}
	}
	o, err := a.host, error(nil)
	o.ConfigFile, o.PluginsDir, o.Project = a.options.Serve.Config, a.options.Serve.Plugins, system.Project
	if r.Config, err = install.ProposeMigration(o, install.Migration{Servers: servers, User: a.options.Scope == client.UserScope, PublicWeb: a.publicWeb}); err != nil {
		return r, nil, err
	}
	for _, one := range which {
		var names []string
		env := map[string]string{}
		for _, entry := range r.Servers {
			if entry.Client != one.ID || len(entry.Left) > 0 {
				continue
			}
			names = append(names, entry.Name)
			if a.options.Scope == client.ProjectScope { // the config of the project has no values of variables
				maps.Copy(env, entry.Env)
			}
		}
		if len(names) == 0 {
			continue
		}
		options, ok := chosen[one]
		if !ok {
			if options, err = a.optionsFor(c.Context(), c.InOrStdin(), one, system); err != nil {
				return r, one, err
			}
			chosen[one] = options
		}
		options.Serve.Env = env
		change, err := client.Replace(one, system, options, names)
		if err != nil {
			return r, one, err
		}
		r.Changes = append(r.Changes, change)
	}
	return r, nil, nil
}

func (a *clientCommand) printReplacement(w io.Writer, r *replacement) {
	for _, s := range r.Servers {
		what, why := "becomes the plugin "+s.Plugin, s.Lost
		if len(s.Left) > 0 {
			what, why = "is left:", s.Left
		}
		fmt.Fprintf(w, "%s: %s (%s) %s\n", s.Client, oneLine(s.Name), s.Replaces, what)
		for _, line := range why {
			fmt.Fprintf(w, "  %s\n", oneLine(line))
		}
	}
	if r.Config != nil {
		printAdds(w, r.Config)
		fmt.Fprintln(w)
	}
	a.printChanges(w, r.Changes)
}

func (a *clientCommand) applyReplacement(w io.Writer, system client.System, r *replacement) error {
	edits, err := r.Config.Edits()
	if err != nil {
		return err
	}
	if err := client.ApplyAll(system, r.Changes, edits); err != nil {
		return err
	}
	for _, change := range r.Changes {
		fmt.Fprintf(w, "\nReplaced %s in %s by %s.\n  backup  %s\n  next    %s\n", oneLine(strings.Join(change.Replaces, ", ")), change.Title, change.Name, oneLine(change.Backup), change.Next)
	}
	printConfigTrust(w, a.host, r.Config.Trust)
	return nil
}

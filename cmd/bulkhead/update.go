package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// updateCommand contains the flags of update.
type updateCommand struct {
	host                               host.Options
	check, pinned, yes, dryRun, asJSON bool
	to                                 string
}

func newUpdate() *cobra.Command {
	var u updateCommand
	c := &cobra.Command{
		Use:   "update [NAME] [flags]",
		Short: "Update the plugins that were fetched",
		Long: `Fetch the newest version of each plugin of the config that was fetched, or of NAME, within
the range of version there, show what differs from the pinned version, and what the config
grants before and after, and pin the new one. If a version asks for more, or would be
granted more, consent is asked for. The former version stays in the store.

Versions are those of the catalogue that lists the plugin with its signer. Without one they
are found in the directory of file:PATH, by names that differ in the version only, and by
the tags of a registry. Web servers do not list versions: bulkhead add REF --repin accepts
a newer one. If the config names a signer, the new version must be signed with that key.

Lists of revoked plugins that the config or the ceiling names are fetched first, always. A
version that one of them names is skipped, and named. If it is pinned, and no newer one is
wanted that may be served, the command that goes back to an older one is shown.

  --check         only list what is outdated, or revoked
  --to VERSION    pin this version, also an older one
  --pinned        fetch exactly what the config pins, as far as the store does not have it,
                  or has it damaged; ask nothing, and leave the config as it is

Exit codes: 0 success; 1 a plugin is outdated (--check), was not updated, cannot be
fetched, is no longer what the config pins, or may not be served, or a list of revoked
plugins cannot be fetched; 2 usage error, the config is invalid or not trusted, or consent
cannot be asked for.`,
		Example: `  bulkhead update --check
  bulkhead update
  bulkhead update chant --to 1.4.2
  bulkhead update --pinned --config team.toml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return u.run(c, args)
		},
	}
	f := c.Flags()
	configFlag(c, &u.host)
	f.BoolVar(&u.check, "check", false, "list what is outdated, and change nothing")
	f.StringVar(&u.to, "to", "", "pin this `version` of NAME, also an older one")
	f.BoolVar(&u.pinned, "pinned", false, "fetch what the config pins, and change nothing")
	f.BoolVarP(&u.yes, "yes", "y", false, "accept versions that ask for more without a prompt")
	f.BoolVar(&u.dryRun, "dry-run", false, "show the differences, change nothing")
	f.BoolVar(&u.asJSON, "json", false, "print JSON: {\"ok\", \"plugins\": [{\"plugin\", \"version\", \"from\", \"at\", \"state\", \"problem\",\n\"newest\", \"skipped\", …}]}, with \"revocations\" if lists are named; never prompts")
	names := options{}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		names.Options = u.host
		return names.completePlugins(c, args, text)
	}
	return c
}

func (u *updateCommand) run(c *cobra.Command, names []string) error {
	switch {
	case u.check && u.pinned || u.to != "" && (u.check || u.pinned):
		return usage.Errorf("--check, --to and --pinned contradict each other: keep one of them")
	case u.to != "" && len(names) == 0:
		return usage.Errorf("--to %s: name the plugin", oneLine(u.to))
	case u.pinned && len(names) > 0:
		return usage.Errorf("--pinned fetches all plugins of the config: leave out %s", oneLine(names[0]))
	}
	if u.to != "" {
		if err := install.CheckVersion(u.to); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	lists, err := u.fetchRevocations(c)
	if err != nil {
		return err
	}
	if u.pinned {
		return u.fetchPinned(c, lists)
	}
	updates := []install.Update{}
	err = withProgress(func(fetcher fetchers) (err error) {
		updates, err = install.Updates(c.Context(), u.host, names, fetcher)
		for i := range updates {
			if u.check {
				updates[i].Settle(c.Context(), u.host, fetcher)
			}
		}
		return exceptNothing(err, lists)
	})
	if err == nil {
		err = context.Cause(c.Context())
	}
	if err != nil {
		return err
	}
	if u.check {
		ok := listsAreFetched(lists) && !slices.ContainsFunc(updates, func(up install.Update) bool {
			return up.State == install.Outdated || up.State == install.Failed || up.Refused != ""
		})
		err = printResult(c, u.asJSON, updateResult(ok, updates, lists), func(w page) { printUpdates(w, updates) })
		return resultError(err, ok)
	}
	return u.update(c, updates, lists)
}

// fetchRevocations fetches the lists of revoked plugins, and prints what has become of each.
func (u *updateCommand) fetchRevocations(c *cobra.Command) (lists []install.RevocationList, err error) {
	err = withProgress(func(fetcher fetchers) (err error) {
		lists, err = install.FetchRevocations(c.Context(), u.host, fetcher)
		return err
	})
	if err == nil {
		err = printPage(textOf(c.OutOrStdout(), u.asJSON), func(w page) { printRevocations(w, lists) })
	}
	return lists, err
}

// exceptNothing returns nil if there is no config, but a ceiling that names lists: they were fetched.
func exceptNothing(err error, lists []install.RevocationList) error {
	if lists != nil && errors.Is(err, install.ErrNothingPinned) {
		return nil
	}
	return err
}

func listsAreFetched(lists []install.RevocationList) bool {
	return !slices.ContainsFunc(lists, func(l install.RevocationList) bool { return l.State == install.Failed })
}

// updateResult is the JSON of a result.
func updateResult(ok bool, plugins any, lists []install.RevocationList) map[string]any {
	result := map[string]any{"ok": ok, "plugins": plugins}
	if lists != nil {
		result["revocations"] = lists
	}
	return result
}

func printRevocations(w page, lists []install.RevocationList) {
	for _, l := range lists {
		fmt.Fprintf(w, "%s  list of revoked plugins  %s\n", w.paint(fmt.Sprintf("%-8s", l.State)), oneLine(l.From))
		switch {
		case l.Serial == 0:
			fmt.Fprintf(w, "          %s: there is no list, so no plugin is served\n", oneLine(l.At))
		case l.Expired:
			fmt.Fprintf(w, "          %s: list %d expired on %s, and stays in force\n", oneLine(l.At), l.Serial, l.Expires)
		default:
			fmt.Fprintf(w, "          list %d, entries: %d, valid until %s\n", l.Serial, l.Revoked, l.Expires)
		}
		if l.Problem != "" {
			fmt.Fprintf(w, "          %s: %s\n", oneLine(l.At), excerpt(l.Problem))
		}
	}
}

// fetchers returns the Fetcher for a reference.
type fetchers func(reference string) *source.Fetcher

// withProgress calls fetch, and shows the progress of its fetchers.
func withProgress(fetch func(fetcher fetchers) error) error {
	tasks := progress.To(os.Stderr)
	defer tasks.Close()
	return fetch(func(reference string) *source.Fetcher {
		return &source.Fetcher{Task: tasks.Add(oneLine(source.Label(reference))), Credential: registryCredential()}
	})
}

func (u *updateCommand) fetchPinned(c *cobra.Command, lists []install.RevocationList) error {
	var stored []install.Stored
	err := withProgress(func(fetcher fetchers) (err error) {
		stored, err = install.FetchPinned(c.Context(), u.host, fetcher)
		return exceptNothing(err, lists)
	})
	if err != nil {
		return err
	}
	ok := listsAreFetched(lists) && !slices.ContainsFunc(stored, func(s install.Stored) bool { return s.State == install.Failed || s.State == install.Refused })
	err = printResult(c, u.asJSON, updateResult(ok, stored, lists), func(w page) { printStored(w, stored) })
	return resultError(err, ok)
}

// updated is the result for one plugin.
type updated struct {
	install.Update
	Updated  bool              `json:"updated"`
	To       string            `json:"to,omitempty"` // the version that it was, or would be, updated to
	Revision *install.Revision `json:"revision,omitempty"`
}

// update updates the plugins one after the other. A plugin that cannot be updated does not keep the others from it.
func (u *updateCommand) update(c *cobra.Command, updates []install.Update, lists []install.RevocationList) error {
	results, ok := []updated{}, listsAreFetched(lists)
	out := textOf(c.OutOrStdout(), u.asJSON)
	var errs []error
	for _, up := range updates {
		result := updated{Update: up}
		err := u.apply(c.Context(), c.InOrStdin(), out, &result)
		if stopped := context.Cause(c.Context()); stopped != nil {
			return stopped
		}
		switch {
		case err != nil:
			result.State, result.Problem, errs = install.Failed, err.Error(), append(errs, err)
		case result.To == "":
			ok = ok && result.State != install.Failed && result.Refused == ""
		default:
			ok = ok && (result.Updated || u.dryRun)
		}
		results = append(results, result)
	}
	if len(updates) == 0 {
		fmt.Fprintln(out, "The config names no plugin that is fetched.")
	}
	if u.asJSON {
		if err := printJSON(c.OutOrStdout(), updateResult(ok && errs == nil, results, lists)); err != nil {
			return err
		}
	}
	return resultError(errors.Join(errs...), ok)
}

// apply shows what the update of a plugin changes, asks for consent if that is more than before, and updates it. Without a version to update to,
// it says what is known of the plugin.
func (u *updateCommand) apply(ctx context.Context, stdin io.Reader, stdout io.Writer, r *updated) (err error) {
	var staged *install.Staged
	err = withProgress(func(fetcher fetchers) (err error) {
		switch u.to {
		case "":
			staged, err = install.StageNewest(ctx, u.host, &r.Update, fetcher)
		case r.Version:
			r.Settle(ctx, u.host, fetcher)
		default:
			staged, err = install.StageVersion(ctx, u.host, &r.Update, u.to, fetcher)
		}
		return err
	})
	if err != nil {
		return err
	}
	if staged == nil {
		return printPage(stdout, func(w page) { printUpdates(w, []install.Update{r.Update}) })
	}
	r.To = staged.Version()
	defer func() { err = errors.Join(err, staged.Close()) }()
	p, err := install.Propose(u.host, install.Addition{Staged: staged, Repin: true})
	if err != nil {
		return err
	}
	r.Revision = p.Revision
	if err := printPage(stdout, func(w page) { printUpdate(w, r.Update, p) }); err != nil {
		return err
	}
	if u.dryRun {
		fmt.Fprintln(stdout, "\nNothing was changed.")
		return nil
	}
	if p.NeedsConsent(r.Version) != "" && !u.yes {
		if u.asJSON || !term.IsTerminal(stdin) {
			return usage.Errorf("%s %s %s, and consent cannot be asked for: pass --yes to accept it, or --dry-run to only show it", p.Plugin.Name, r.To, p.NeedsConsent(r.Version))
		}
		switch err := confirm(ctx, stdin, fmt.Sprintf("Update %s to %s in %s", p.Plugin.Name, r.To, oneLine(p.Config))); {
		case errors.As(err, new(exitStatus)):
			return nil // the other plugins are updated nevertheless
		case err != nil:
			return err
		}
	}
	if err := p.Write(ctx); err != nil {
		return err
	}
	r.Updated = true
	printUnrecorded(p.Unrecorded)
	fmt.Fprintf(stdout, "\nUpdated %s to %s in %s.\n", p.Plugin.Name, r.To, oneLine(p.Config))
	printConfigTrust(stdout, u.host, p.Trust)
	printNotKept(stdout, p.NotKept)
	return nil
}

// printUpdate prints what an update changes.
func printUpdate(w page, u install.Update, p *install.Proposal) {
	imported := ""
	if p.Source.Imported {
		imported = ", as the directory claims that it was imported from"
	}
	fmt.Fprintf(w, "%s\n  from       %s%s\n", w.style.Title(fmt.Sprintf("%s %s → %s", p.Plugin.Name, u.Version, p.Plugin.Version)), oneLine(p.Source.From), imported)
	printSkipped(w, u, "  ")
	printRevision(w, w.style, p.Revision)
	printWarnings(w, w.style, p.Warnings)
}

// maxSkipped bounds the versions that printSkipped prints.
const maxSkipped = 5

// printSkipped prints which newer versions are revoked.
func printSkipped(w page, u install.Update, indent string) {
	for i, s := range u.Skipped {
		if i == maxSkipped {
			fmt.Fprintf(w, "%sand %d more versions are revoked\n", indent, len(u.Skipped)-i)
			return
		}
		fmt.Fprintf(w, "%s%s %s %s\n", indent, w.paint("skipped:"), s.Version, excerpt(s.Why))
	}
}

func printUpdates(w page, updates []install.Update) {
	for _, u := range updates {
		name := oneLine(u.Plugin + " " + u.Version)
		if u.Plugin == "" {
			name = "?"
		}
		fmt.Fprintf(w, "%s  %s  %s\n", w.paint(fmt.Sprintf("%-8s", u.State)), name, oneLine(u.From))
		if u.Newest != "" {
			fmt.Fprintf(w, "          %s is the newest that %s wants: `bulkhead update %s`\n", u.Newest, oneLine(u.At), u.Plugin)
		}
		if u.Beyond != "" {
			fmt.Fprintf(w, "          %s is not in the range of %s: `bulkhead update %s --to %s`\n", u.Beyond, oneLine(u.At), u.Plugin, u.Beyond)
		}
		printSkipped(w, u, "          ")
		if u.Problem != "" {
			fmt.Fprintf(w, "          %s: %s\n", oneLine(u.At), excerpt(u.Problem))
		}
		if u.Refused != "" {
			fmt.Fprintf(w, "          %s %s: %s\n", w.paint("refused:"), oneLine(u.At), excerpt(u.Refused))
		}
	}
	if len(updates) == 0 {
		fmt.Fprintln(w, "The config names no plugin that is fetched.")
	}
}

func printStored(w page, stored []install.Stored) {
	for _, s := range stored {
		name := "?"
		if s.Plugin != "" {
			name = s.Plugin + " " + s.Version
		}
		fmt.Fprintf(w, "%s  %s  %s\n", w.paint(fmt.Sprintf("%-7s", s.State)), oneLine(name), oneLine(s.From))
		if s.Problem != "" {
			fmt.Fprintf(w, "         %s: %s\n", oneLine(s.At), excerpt(s.Problem))
		}
	}
	if len(stored) == 0 {
		fmt.Fprintln(w, "The config names no plugin that is fetched.")
	}
}

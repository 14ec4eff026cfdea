package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func newToken() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make and revoke bearer tokens for serve --http",
		Long: `Make, list and revoke bearer tokens for bulkhead serve --http. Clients send one in the
header Authorization of each request. Without it they get status 401 and nothing else.

A named token is one for each client: bulkhead serve --tokens, or tokens = true in [http],
accepts all of them. Only digests are stored. A running server reads them again when they
change.`,
		Example: `  bulkhead token new ann --expires 90d
  bulkhead token list
  bulkhead token revoke ann`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTokenNew(), newTokenList(), newTokenRevoke())
	return c
}

func newTokenNew() *cobra.Command {
	var o host.Options
	var expires string
	var asJSON bool
	c := &cobra.Command{
		Use:   "new [NAME | PATH] [flags]",
		Short: "Make a random bearer token",
		Long: `Make a random bearer token of 260 bits.

With a NAME, it is a named token, which is printed once and not stored: only its digest is.
Several tokens can have one name, so that a client gets a new one before the old one is
revoked. Each has an ID of its own, which the audit log records.

With a PATH, which contains a separator such as ./token, it is written to a new file that
only you can read: name the file in token_file of [http], or pass it to bulkhead serve
--http ADDRESS --token-file FILE. Without an argument it is printed, for token_env.`,
		Example: `  bulkhead token new ann --expires 90d
  bulkhead token new ~/.config/bulkhead/token
  BULKHEAD_TOKEN=$(bulkhead token new)`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && !isTokenPath(args[0]):
				return runTokenNew(c, o, args[0], expires, asJSON)
			case expires != "" || asJSON || o.ConfigFile != "":
				return usage.Errorf("--expires, --config and --json are for a named token: bulkhead token new NAME")
			case len(args) == 0:
				_, err := fmt.Fprintln(c.OutOrStdout(), install.NewToken())
				return err
			}
			if err := install.WriteToken(args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.ErrOrStderr(), "%s: written\n", oneLine(args[0]))
			return err
		},
	}
	recordFlag(c, &o)
	c.Flags().StringVar(&expires, "expires", "", "`time` after which the named token is not valid: 12h, 90d, or a date such as 2027-01-31")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"id\", \"name\", \"created\", \"expires\", \"token\"}")
	return c
}

// recordFlag defines --config on a command that reads nothing of the config but where its audit log is.
func recordFlag(c *cobra.Command, o *host.Options) {
	c.Flags().StringVar(&o.ConfigFile, "config", "", "config `file` whose audit log records it (default: the one in force)")
}

// printUnrecorded warns that the audit log, or a copy of it, has no record of a change.
func printUnrecorded(reason string) {
	if reason != "" {
		fmt.Fprintf(os.Stderr, "%s the audit log, or a copy of it, has no record of this change: %s\n", paint(term.StyleOf(os.Stderr), "warning:"), excerpt(reason))
	}
}

// isTokenPath reports whether the argument of token new is the path of a file rather than a name.
func isTokenPath(arg string) bool { return strings.ContainsAny(arg, `/\`) }

func runTokenNew(c *cobra.Command, o host.Options, name, expires string, asJSON bool) error {
	if err := install.CheckTokenName(name); err != nil {
		return usage.Errorf("%s: %w; a path has a separator: ./%s", oneLine(name), err, oneLine(name))
	}
	var until *time.Time
	if expires != "" {
		now := time.Now()
		t, ok := parseTime(expires, now, 1)
		if !ok || !t.After(now) {
			return usage.Errorf("--expires: %q is neither a duration such as 12h or 90d, nor a date or time in the future such as 2027-01-31", expires)
		}
		t = t.UTC().Truncate(time.Second)
		until = &t
	}
	token, made, unrecorded, err := install.NewNamedToken(c.Context(), o, name, until)
	if err != nil {
		return err
	}
	printUnrecorded(unrecorded)
	if asJSON {
		return printJSON(c.OutOrStdout(), tokenResult{tokenItem: itemOf(made, time.Now()), Token: token})
	}
	if _, err := fmt.Fprintln(c.OutOrStdout(), token); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.ErrOrStderr(), "%s: made with the ID %s, %s; it is not shown again\n", made.Name, made.ID, validity(itemOf(made, time.Now())))
	return err
}

// tokenItem describes a named token.
type tokenItem struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Expired bool       `json:"expired"`
}

type tokenResult struct {
	tokenItem
	Token string `json:"token"`
}

func itemOf(t install.Token, now time.Time) tokenItem {
	return tokenItem{t.ID, t.Name, t.Created, t.Expires, t.IsExpired(now)}
}

func itemsOf(all []install.Token) []tokenItem {
	items := make([]tokenItem, len(all))
	for i, t := range all {
		items[i] = itemOf(t, time.Now())
	}
	return items
}

// validity describes until when a token is valid.
func validity(t tokenItem) string {
	switch {
	case t.Expires == nil:
		return "does not expire"
	case t.Expired:
		return "expired " + t.Expires.Local().Format(time.DateTime)
	}
	return "expires " + t.Expires.Local().Format(time.DateTime)
}

func newTokenList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the named tokens",
		Long: `List the named tokens of this user: name, ID, the time when it was made, and until when it
is valid. The tokens themselves are not stored.`,
		Example: `  bulkhead token list
  bulkhead token list --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			file, err := install.NamedTokens(discovery.System{})
			if err != nil {
				return err
			}
			all, err := file.Read()
			if err != nil {
				return err
			}
			items := itemsOf(all)
			return printResult(c, asJSON, map[string]any{"file": file.Path(), "tokens": items}, func(w page) {
				if len(items) == 0 {
					fmt.Fprintln(w, "no named tokens")
				}
				for _, t := range items {
					fmt.Fprintf(w, "%-20s  %s  made %s  %s\n", t.Name, t.ID, t.Created.Local().Format(time.DateTime), validity(t))
				}
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"file\", \"tokens\": [{\"id\", \"name\", \"created\", \"expires\", \"expired\"}]}")
	return c
}

func newTokenRevoke() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "revoke NAME|ID [flags]",
		Short: "Revoke a named token",
		Long: `Revoke the named token with an ID, or all tokens with a name. A running server refuses it
at once, ends its sessions and streams, and cancels its calls in flight.

Exit codes: 0 revoked; 1 there is no such token.`,
		Example: `  bulkhead token revoke ann
  bulkhead token revoke 5k2mq7wzj3xtcn4a --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTokens,
		RunE: func(c *cobra.Command, args []string) error {
			revoked, unrecorded, err := install.RevokeTokens(c.Context(), o, args[0])
			if err != nil {
				return err
			}
			printUnrecorded(unrecorded)
			items := itemsOf(revoked)
			err = printResult(c, asJSON, map[string]any{"revoked": items}, func(w page) {
				for _, t := range items {
					fmt.Fprintf(w, "%s: revoked (%s)\n", t.Name, t.ID)
				}
			})
			if len(items) == 0 && !asJSON {
				fmt.Fprintf(c.ErrOrStderr(), "there is no token with the name or ID %q: see bulkhead token list\n", args[0])
			}
			return resultError(err, len(items) > 0)
		},
	}
	recordFlag(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"revoked\": [{\"id\", \"name\", …}]}")
	return c
}

// completeTokens completes with the names of the tokens.
func completeTokens(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if file, err := install.NamedTokens(discovery.System{}); err == nil {
		all, _ := file.Read() // without a list, there is nothing to complete with
		for _, t := range all {
			names = append(names, t.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

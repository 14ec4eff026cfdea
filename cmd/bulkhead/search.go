package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newSearch() *cobra.Command {
	var options host.Options
	var offline, asJSON bool
	c := &cobra.Command{
		Use:   "search [TEXT…] [flags]",
		Short: "Search the catalogues for plugins",
		Long: `List the plugins whose name or description contains each word of TEXT, or all: those of the
catalogues in [sources] of the config or the ceiling, and those that come with the program.
What is listed can be added by its name: bulkhead add NAME. That is the newest version that
no list of revoked plugins names; the others of the catalogue are listed with it.

A catalogue is a signed list. It is fetched at most once an hour, and kept; without a
network, or with --offline, the copy that was fetched last is searched. An older catalogue
than that is refused, and so is one that another key signed.

Exit codes: 0 something was found; 1 nothing was found; 2 usage error, or the config or the
ceiling is invalid.`,
		Example: `  bulkhead search notes
  bulkhead search                    # everything
  bulkhead search notes --json --offline`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, words []string) error {
			s, err := loadCatalogues(c.Context(), options, offline)
			if err != nil {
				return err
			}
			text := strings.Join(words, " ")
			matches := s.Search(text)
			result := map[string]any{"plugins": matches, "catalogues": listsOf(s)}
			if s.Unused != nil {
				result["unused"] = s.Unused.Error()
			}
			if !asJSON {
				printListProblems(os.Stderr, s) // first, since they can be why nothing is found
			}
			err = printResult(c, asJSON, result, func(w page) {
				printMatches(w, matches)
				if hint := s.Suggest(text); len(matches) == 0 && hint != "" {
					fmt.Fprintf(w, "  %s\n", hint)
				}
			})
			return resultError(err, len(matches) > 0)
		},
	}
	f := c.Flags()
	configFlag(c, &options)
	f.BoolVar(&offline, "offline", false, "fetch nothing: search the copies of the catalogues that are kept")
	f.BoolVar(&asJSON, "json", false, "print JSON: {\"plugins\": [{\"name\", \"version\", \"description\", \"signer\", \"from\",\n\"revoked\", \"others\": [{\"version\", \"revoked\"}], …}],\n\"catalogues\": [{\"from\", \"serial\", \"fetched\", \"problem\", …}],\n\"unused\": why the catalogues of the config are not used}")
	return c
}

// loadCatalogues reads the catalogues, and fetches those whose copies are old.
func loadCatalogues(ctx context.Context, o host.Options, offline bool) (*catalogue.Sources, error) {
	s, err := catalogue.Open(o)
	if err != nil {
		return nil, err
	}
	age := catalogue.FreshTime
	if offline {
		age = catalogue.Offline
	}
	return s, withProgress(func(fetcher fetchers) error { return s.Load(ctx, age, fetcher) })
}

// named is a plugin that a name stands for, and where it was found.
type named struct {
	*catalogue.Found
	sources *catalogue.Sources
	name    catalogue.Name
}

// findNamed returns the plugin that a name stands for, nil if text is a reference. A directory or file of this name that exists is the
// reference, unless there is a plugin with the name too.
func findNamed(ctx context.Context, o host.Options, text string) (*named, error) {
	if !catalogue.IsName(text) {
		return nil, nil
	}
	name, err := catalogue.ParseName(text)
	if err != nil {
		return nil, err
	}
	s, err := loadCatalogues(ctx, o, false)
	if err != nil {
		return nil, err
	}
	found, err := s.Find(name)
	if err != nil { // it can be new in a catalogue
		if lerr := withProgress(func(fetcher fetchers) error { return s.Load(ctx, 0, fetcher) }); lerr != nil {
			return nil, lerr
		}
		found, err = s.Find(name)
	}
	_, missing := os.Lstat(text)
	switch {
	case missing == nil && errors.As(err, new(*catalogue.UnknownError)):
		return nil, nil
	case err != nil:
		return nil, err
	case missing == nil:
		return nil, usage.Errorf("%s is a file or directory here, and a plugin in a catalogue: write ./%s for the one, or %s@* for the other", text, text, name.Name)
	}
	printListProblems(os.Stderr, s)
	return &named{found, s, name}, nil
}

// listOf is a catalogue in the output of --json.
type listOf struct {
	From    string              `json:"from"`
	At      string              `json:"at,omitempty"`
	Serial  int64               `json:"serial,omitempty"`
	Fetched time.Time           `json:"fetched,omitzero"`
	Problem string              `json:"problem,omitempty"`
	LeftOut []catalogue.LeftOut `json:"left_out,omitempty"`
}

func listsOf(s *catalogue.Sources) []listOf {
	out := []listOf{}
	for _, l := range s.Lists {
		item := listOf{From: l.From, At: l.At, Serial: l.Serial, LeftOut: l.LeftOut}
		if l.Problem != nil {
			item.Problem = l.Trouble()
		}
		if !l.Kept.IsZero() {
			item.Fetched = l.Kept.UTC().Truncate(time.Second)
		}
		out = append(out, item)
	}
	return out
}

// printListProblems warns of catalogues that are not used, or not the newest.
func printListProblems(to io.Writer, s *catalogue.Sources) {
	style := term.StyleOf(to)
	warn := func(format string, args ...any) {
		fmt.Fprintf(to, "%s %s\n", paint(style, "warning:"), excerpt(fmt.Sprintf(format, args...)))
	}
	for _, l := range s.Lists {
		switch {
		case l.Problem != nil && l.Serial == 0:
			warn("the catalogue %s is not used: %s", l.From, l.Trouble())
		case l.Problem != nil:
			warn("the catalogue %s is used as it was fetched on %s: %s", l.From, l.Kept.Format(time.DateOnly), l.Trouble())
		}
		if len(l.LeftOut) > 0 {
			left := l.LeftOut[0]
			warn("%d entries of %s are left out, since pinned keys refuse them; the first is %s %s: %s", len(l.LeftOut), l.From, left.Name, left.Version, left.Why)
		}
	}
	if s.Unused != nil {
		warn("the catalogues of the config are not used: %v", s.Unused)
	}
}

// maxOthers bounds the other versions of a plugin that are printed.
const maxOthers = 10

// printOthers prints the other versions of a plugin, and which are revoked.
func printOthers(w page, m catalogue.Match) {
	if m.Revoked != "" {
		fmt.Fprintf(w, "    %s %s %s; there is no version that is not revoked\n", w.paint("refused:"), m.Version, excerpt(m.Revoked))
	}
	var others []string
	for _, other := range m.Others {
		switch {
		case other.Revoked == "":
			others = append(others, other.Version)
		case m.Revoked == "":
			others = append(others, other.Version+" (revoked)")
		}
	}
	if len(others) > maxOthers {
		others = append(others[:maxOthers], "and older ones")
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "    other versions: %s\n", oneLine(strings.Join(others, ", ")))
	}
}

func printMatches(w page, matches []catalogue.Match) {
	for _, m := range matches {
		fmt.Fprintf(w, "%s  %s\n", w.style.Title(oneLine(m.Name+" "+m.Version)), excerpt(m.Description))
		switch {
		case m.Dir != "":
			fmt.Fprintf(w, "    installed  %s\n", oneLine(m.Dir))
		case m.Signer == "":
			fmt.Fprintf(w, "    not signed  %s\n", oneLine(source.Label(m.From)))
		default:
			fmt.Fprintf(w, "    signer %s  %s\n", m.Signer, oneLine(source.Label(m.From)))
		}
		printOthers(w, m)
		if len(m.LooksLike) > 0 {
			fmt.Fprintf(w, "    %s its name looks like %s, of another signer\n", w.paint("warning:"), strings.Join(m.LooksLike, ", "))
		}
	}
	if len(matches) == 0 {
		fmt.Fprintln(w, "No plugin was found.")
	}
}

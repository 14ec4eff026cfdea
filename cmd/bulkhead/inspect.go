package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func newPluginInspect() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect FILE [flags]",
		Short: "Describe a module, or tell what else a file is",
		Long: `Describe the file of a module: its ABI, handlers, imports and exports, the size of its
sections and packages, and what it costs to start it. If plugin.toml is beside it, also
what the plugin offers and asks for. If the file is not a plugin, the command tells what
it is, and what its author can do.

A plugin runs once, in the sandbox and without access to anything. A program whose
manifest has kind = "command" is loaded, and does not run. Other files are only read, in
a confined process.

Exit codes: 0 a plugin that describes its handlers, or a program whose manifest has kind =
"command"; 1 a plugin that fails, or another file; 2 FILE cannot be read.`,
		Example: `  bulkhead plugin inspect dist/plugins/chant/chant.wasm
  bulkhead plugin inspect dist/plugins/chant/chant.wasm --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := build.Inspect(c.Context(), args[0], buildOptions())
			if err != nil {
				return err
			}
			return resultError(printResult(c, asJSON, r, func(w page) { printReport(w, r) }), r.Problem == "")
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"kind\", \"language\", \"abi\", \"problem\", \"remedy\", \"size\", \"sections\", …}")
	c.ValidArgsFunction = completeModules
	return c
}

// maxShown is how many entries of a list the command prints; --json has all.
const maxShown = 12

// printReport prints a line for each part of the report. All strings of a module pass through oneLine.
func printReport(w page, r build.Report) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %-10s %s\n", label, oneLine(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(w, "%s: %s\n", oneLine(r.File), oneLine(r.What))
	if r.Problem != "" && r.Problem != "it is "+r.What {
		fmt.Fprintf(w, "  %s %s\n", w.paint(fmt.Sprintf("%-10s", "failed")), oneLine(r.Problem))
	}
	if r.Remedy != "" {
		line("remedy", "%s", r.Remedy)
	}
	if r.Fault != "" {
		line("malformed", "%s", r.Fault)
	}
	line("size", "%s, SHA-256 %s", sizeText(int64(r.Size)), r.SHA256)
	if r.Language != "" || len(r.Producers) > 0 {
		line("made with", "%s", producersText(r))
	}
	printHandlers(line, r.Handlers)
	if s := r.Start; s != nil {
		compile := "compiled code was in the cache"
		if s.Compile > 0 {
			compile = "compiled in " + roundTime(s.Compile)
		}
		if s.CallFuel == 0 { // a command, which is loaded and does not run
			line("start-up", "%s for a process, %s", roundTime(s.Load), compile)
			line("memory", "%s initially", sizeText(r.Memory))
		} else {
			line("start-up", "%s for a process and the first call, %s; %d instructions to initialize, %d in the first call", roundTime(s.Load), compile, s.StartFuel, s.CallFuel)
			line("memory", "%s initially, %s after the first call", sizeText(r.Memory), sizeText(s.Memory))
		}
	} else if r.Memory > 0 {
		line("memory", "%s initially", sizeText(r.Memory))
	}
	list(line, "sections", largest(r.Sections), r.LeftOut.Sections, partText)
	list(line, "packages", r.Packages, r.LeftOut.Packages, partText)
	printImports(line, r)
	list(line, "exports", r.Exports, r.LeftOut.Exports, entryText)
	printManifest(line, r.Manifest)
}

type printLine func(label, format string, args ...any)

// list prints the first entries of a list, and how many more there are. leftOut is the number of entries that the list lacks.
func list[T any](line printLine, label string, all []T, leftOut int, text func(T) string) {
	if len(all) == 0 {
		return
	}
	var words []string
	for _, item := range all[:min(len(all), maxShown)] {
		words = append(words, text(item))
	}
	if more := len(all) + leftOut - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	line(label, "%s", strings.Join(words, ", "))
}

func printHandlers(line printLine, has *abi.Description) {
	if has == nil {
		return
	}
	handlers := []string{}
	for _, h := range []struct {
		name string
		is   bool
	}{{"prompts", has.Prompts}, {"resources", has.Resources}, {"completions", has.Completions}} {
		if h.is {
			handlers = append(handlers, h.name)
		}
	}
	if len(has.Tools) > 0 {
		list(line, "tools", has.Tools, 0, func(name string) string { return name })
	}
	if len(handlers) > 0 {
		line("handles", "%s", strings.Join(handlers, ", "))
	}
}

// printImports prints the imports by the module that they are imported from.
func printImports(line printLine, r build.Report) {
	var modules []string
	names := map[string][]string{}
	for _, i := range r.Imports {
		if names[i.Module] == nil {
			modules = append(modules, i.Module)
		}
		names[i.Module] = append(names[i.Module], i.Name)
	}
	for n, module := range modules {
		if n == maxShown {
			line("imports", "from %d more modules", len(modules)-n)
			break
		}
		list(func(label, format string, args ...any) {
			line(label, "from %s: "+format, append([]any{module}, args...)...)
		},
			"imports", names[module], 0, func(name string) string { return name })
	}
	if r.LeftOut.Imports > 0 {
		line("imports", "%d more", r.LeftOut.Imports)
	}
}

func printManifest(line printLine, m *build.Summary) {
	if m == nil {
		return
	}
	line("manifest", "%s: %s %s", m.File, m.Name, m.Version)
	list(line, "offers", m.Tools, 0, func(t build.ToolInfo) string {
		if t.Write {
			return t.Name + " (writes)"
		}
		return t.Name
	})
	list(line, "offers", m.Offers, 0, func(name string) string { return name })
	list(line, "asks for", m.AsksFor, 0, func(r build.Request) string {
		return strings.TrimSpace(r.Kind + " " + r.What + " " + r.Access)
	})
	if m.Problems > 0 {
		line("problems", "%d: `bulkhead plugin check` with this directory lists them", m.Problems)
	}
}

func producersText(r build.Report) string {
	text := []string{}
	if r.Language != "" {
		text = append(text, string(r.Language))
	}
	for _, p := range r.Producers[:min(len(r.Producers), maxShown)] {
		if p.Name != string(r.Language) {
			text = append(text, strings.TrimSpace(p.Name+" "+p.Version))
		}
	}
	return strings.Join(text, ", ")
}

// largest returns parts by their sizes, the largest first.
func largest(parts []build.Part) []build.Part {
	return slices.SortedStableFunc(slices.Values(parts), func(a, b build.Part) int { return cmp.Compare(b.Size, a.Size) })
}

func partText(p build.Part) string { return p.Name + " " + sizeText(int64(p.Size)) }

func entryText(e build.Entry) string {
	if e.Kind == "function" {
		return e.Name
	}
	return e.Name + " (" + e.Kind + ")"
}

func roundTime(ns int64) string { return time.Duration(ns).Round(100 * time.Microsecond).String() }

// sizeText formats a number of bytes.
func sizeText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// inProject formats a path for the terminal. A path in the project is shown relative to the project.
func inProject(project, path string) string {
	if rel, err := filepath.Rel(project, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return oneLine(path)
}

// isAccess reports whether an item is access to the user's data. Limits and offers are shown by --json and bulkhead policy only.
func isAccess(kind string) bool {
	return slices.Contains([]string{review.Folder, review.Repository, review.Origin, review.Variable, review.Question}, kind)
}

// printSetup prints what plugins may access, what is created, and what is added to the config.
func printSetup(to io.Writer, s *install.Setup) {
	w := bufio.NewWriter(to)
	defer w.Flush()
	for _, p := range s.Plugins {
		fmt.Fprintf(w, "%s %s: %s\n", p.Name, oneLine(p.Version), excerpt(p.Description))
		if p.InConfig {
			fmt.Fprintf(w, "  is in %s already\n", inProject(s.Project, s.Config))
		}
		for _, item := range p.Items {
			switch web := item.What == manifest.PublicWeb; {
			case web && item.NotGiven != "":
				fmt.Fprintf(w, "  may not %s: %s\n", excerpt(item.Words), excerpt(item.NotGiven))
			case item.NotGiven == "" && isAccess(item.Kind):
				fmt.Fprintf(w, "  may %s\n", excerpt(item.Words))
				if web { // the one grant that is as broad as a flag says
					fmt.Fprintf(w, "    note: %s\n", excerpt(item.Caution))
				}
			}
		}
		for _, lack := range p.Lacks {
			fmt.Fprintf(w, "  cannot work yet: %s\n", excerpt(lack))
		}
	}
	for n, f := range s.Files {
		if n == 0 {
			fmt.Fprintf(w, "\nThis is created in %s:\n", oneLine(s.Project))
		}
		printFile(w, inProject(s.Project, f.Path), f.Content, f.IsDir)
	}
	printAdds(w, s)
}

// printAdds prints what is added to the config.
func printAdds(w io.Writer, s *install.Setup) {
	if s.Adds == "" {
		fmt.Fprintf(w, "\n%s needs no change.\n", inProject(s.Project, s.Config))
		return
	}
	if s.PassedOver != "" {
		fmt.Fprintf(w, "\nIn this project %s is not used any more.\n", oneLine(s.PassedOver))
	}
	fmt.Fprintf(w, "\nThis is added to %s, which is trusted then:\n\n", inProject(s.Project, s.Config))
	if s.AuditRequiredBy != "" {
		fmt.Fprintf(w, "  ([audit] because %s requires an audit log)\n", oneLine(s.AuditRequiredBy))
	}
	for row := range strings.Lines(strings.TrimLeft(s.Adds, "\n")) {
		fmt.Fprintf(w, "  + %s\n", strings.TrimRight(visible.Text(row), "\n"))
	}
}

// Bounds of what is shown of a file that is created. The complete content is available with --json.
const maxFileLines, maxFileBytes = 30, 4096

// printFile prints the path of a file that is created, and its content.
func printFile(w io.Writer, path, content string, isDir bool) {
	path = oneLine(path)
	switch {
	case isDir:
		fmt.Fprintf(w, "  %s/\n", path)
		return
	case content == "":
		fmt.Fprintf(w, "  %s (empty)\n", path)
		return
	}
	fmt.Fprintf(w, "  %s\n", path)
	shown, lines := 0, 0
	for row := range strings.Lines(content) {
		if lines++; lines > maxFileLines || shown+len(row) > maxFileBytes {
			fmt.Fprintf(w, "    … (and %d more bytes: see them with --json)\n", len(content)-shown)
			return
		}
		shown += len(row)
		fmt.Fprintf(w, "    | %s\n", visible.Text(strings.TrimSuffix(row, "\n")))
	}
}

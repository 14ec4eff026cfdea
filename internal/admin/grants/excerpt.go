package grants

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Excerpt is a part of a file, with a line marked, or all lines of a key that begins there.
type Excerpt struct {
	File       string
	Line, Last int // that are marked, and those between; 0: none is
	Lines      []Line
}

// Place names the marked lines.
func (e *Excerpt) Place() string {
	if e.Last > e.Line {
		return fmt.Sprintf("lines %d to %d", e.Line, e.Last)
	}
	return fmt.Sprintf("line %d", e.Line)
}

// Line is a line of an Excerpt.
type Line struct {
	Number int
	Text   string
	Marked bool
}

// around is the number of lines that an Excerpt has before and after the marked ones.
const around = 8

// Show returns an Excerpt of the config, of a file that it includes, of the ceiling or of the manifest of a plugin: no other file is shown.
// Comments and the values of variables, which may be secret, are left out.
func Show(o discovery.Options, file string, line int) (*Excerpt, error) {
	view, err := catalog.Look(o)
	if view == nil {
		return nil, err
	}
	return show(view, file, line)
}

func show(view *catalog.Catalog, file string, line int) (*Excerpt, error) {
	lines, data, err := readOutline(view, file)
	if err != nil {
		return nil, err
	}
	if line < 0 || line > len(lines) {
		return nil, usage.Errorf("%s has only %d lines: it may have changed, so go back and reload the page", file, len(lines))
	}
	e := &Excerpt{File: file, Line: line, Last: min(len(lines), tomlfile.LastLine(data, line))}
	for i := max(1, line-around); i <= min(len(lines), e.Last+around); i++ {
		e.Lines = append(e.Lines, Line{i, lines[i-1], line <= i && i <= e.Last})
	}
	return e, nil
}

// readOutline returns the lines of a file, without what may be secret, and all of its content.
func readOutline(view *catalog.Catalog, file string) (lines []string, data []byte, err error) {
	if !slices.Contains(sources(view), file) {
		return nil, nil, usage.Errorf("%s is no file of this installation: only the config, what it includes, the ceiling and manifests are shown", tomlfile.Quote(file))
	}
	if data, err = tomlfile.ReadFile(file); err != nil {
		return nil, nil, err
	}
	lines, err = tomlfile.Outline(data, isSecret)
	return lines, data, err
}

// isSecret reports whether the value at a path of a config may be secret.
func isSecret(path []string) bool {
	return len(path) > 1 && (path[0] == "plugins" && path[1] == "env" || path[0] == "audit" && path[1] == "otlp")
}

// sources returns the files that decide what the plugins of view are granted.
func sources(view *catalog.Catalog) []string {
	var all []string
	for _, f := range view.Files {
		all = append(all, f.Path)
	}
	if view.Ceiling != nil {
		all = append(all, view.Ceiling.File)
	}
	for _, p := range view.Plugins {
		if p.Manifest != nil && !p.IsHost() {
			all = append(all, p.Manifest.File)
		}
	}
	return all
}

// Package create creates a package from a project. Detect finds artifacts by their paths, and Manifest generates an
// aam.yaml that lists the artifacts. The package neither copies nor moves files.
package create

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// The limits of Detect.
const (
	maxEntries   = 50_000
	maxDepth     = 32
	maxArtifacts = 2000
)

// skipped contains the names of directories in which Detect does not search for skills and agents.
var skipped = []string{
	".aam", ".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache",
	"dist", "build", ".tox", ".nox", ".eggs",
}

// folder is a directory in which each file with a certain suffix is an artifact.
type folder struct {
	path   string
	suffix string
	typ    manifest.Type
	begins string // the required prefix of the file name; the artifact's name does not include the prefix
	not    string // file names with this prefix are not those of artifacts
	kind   string // the kind of artifact that the generated description names
}

var folders = []folder{
	{".cursor/rules", ".mdc", manifest.Agent, "agent-", "", "Cursor agent rule"},
	{"prompts", ".md", manifest.Prompt, "", "", "Prompt"},
	{".cursor/prompts", ".md", manifest.Prompt, "", "", "Prompt"},
	{".cursor/commands", ".md", manifest.Prompt, "", "", "Cursor command prompt"},
	{".github/prompts", ".md", manifest.Prompt, "", "", "Prompt"},
	{"instructions", ".md", manifest.Instruction, "", "", "Instruction"},
	{".cursor/rules", ".mdc", manifest.Instruction, "", "agent-", "Cursor rule"},
}

// single lists the paths of single files that are artifacts.
var single = []struct{ path, name string }{
	{"CLAUDE.md", "claude-instructions"},
	{"AGENTS.md", "codex-instructions"},
	{".github/copilot-instructions.md", "copilot-instructions"},
}

// detector walks the directories of a project to find artifacts.
type detector struct {
	files   files.System
	dir     string
	found   []manifest.Artifact
	entries int
}

// Detect returns the artifacts in the project at dir, sorted by type and path, with valid and unique names. It omits
// artifacts for which skip returns true. The paths of artifacts are relative to dir, with slashes.
func Detect(s files.System, dir string, skip func(manifest.Artifact) bool) ([]manifest.Artifact, error) {
	d := &detector{files: s, dir: dir}
	if err := d.walk("", 0); err != nil {
		return nil, err
	}
	for _, f := range folders {
		if err := d.list(f); err != nil {
			return nil, err
		}
	}
	for _, one := range single {
		if d.isFile(one.path) {
			d.add(manifest.Instruction, one.name, one.path, "Platform instruction")
		}
	}
	d.found = slices.DeleteFunc(d.found, skip)
	if len(d.found) > maxArtifacts {
		return nil, fault.New(fault.InvalidArgument, "%s has %d artifacts, but a package may have at most %d", dir, len(d.found), maxArtifacts)
	}
	slices.SortFunc(d.found, func(a, b manifest.Artifact) int {
		return cmp.Or(cmp.Compare(slices.Index(manifest.Types(), a.Type), slices.Index(manifest.Types(), b.Type)), cmp.Compare(a.Path, b.Path))
	})
	rename(d.found)
	return d.found, nil
}

// walk adds the skills and agents below a directory, at any depth.
func (d *detector) walk(below string, depth int) error {
	entries, err := d.read(below)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return fault.New(fault.InvalidArgument, "%s: directories are nested more than %d levels deep", below, maxDepth)
	}
	for _, entry := range entries {
		at := path.Join(below, entry.Name())
		switch {
		case entry.IsDir() && !slices.Contains(skipped, entry.Name()):
			if err := d.walk(at, depth+1); err != nil {
				return err
			}
		case entry.Name() == "SKILL.md" && d.isFile(at):
			d.add(manifest.Skill, d.folderName(below), cmp.Or(below, "."), "Skill")
		case entry.Name() == manifest.AgentFileName && d.isFile(at):
			d.add(manifest.Agent, d.folderName(below), cmp.Or(below, "."), "Agent")
		}
	}
	return nil
}

// folderName returns the name of the artifact that consists of the directory "below".
func (d *detector) folderName(below string) string {
	if below == "" {
		return filepath.Base(d.dir)
	}
	return path.Base(below)
}

// list adds those files in a directory that are artifacts.
func (d *detector) list(f folder) error {
	entries, err := d.read(f.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		stem, fits := strings.CutSuffix(entry.Name(), f.suffix)
		name, begins := strings.CutPrefix(stem, f.begins)
		at := path.Join(f.path, entry.Name())
		if !fits || !begins || f.not != "" && strings.HasPrefix(stem, f.not) || !d.isFile(at) {
			continue
		}
		if f.typ == manifest.Prompt {
			name = strings.TrimSuffix(name, ".prompt")
		}
		d.add(f.typ, name, at, f.kind)
	}
	return nil
}

// read returns the entries of a directory. If below does not exist or is not a directory, read returns no entries.
func (d *detector) read(below string) ([]fs.DirEntry, error) {
	at := filepath.Join(d.dir, filepath.FromSlash(below))
	if !files.IsDir(d.files, at) {
		return nil, nil
	}
	entries, err := d.files.ReadDir(at)
	if err != nil {
		return nil, err
	}
	if d.entries += len(entries); d.entries > maxEntries {
		return nil, fault.New(fault.InvalidArgument, "%s has more than %d files and directories: too many for a package", d.dir, maxEntries)
	}
	return entries, nil
}

func (d *detector) isFile(below string) bool {
	info, err := d.files.Stat(filepath.Join(d.dir, filepath.FromSlash(below)))
	return err == nil && info.Mode().IsRegular()
}

// add adds an artifact, unless a manifest may not contain the artifact's path.
func (d *detector) add(t manifest.Type, name, at, kind string) {
	if !utf8.ValidString(at) || strings.ContainsFunc(at, unicode.IsControl) {
		return
	}
	d.found = append(d.found, manifest.Artifact{Type: t, Name: name, Path: at, Description: short(fmt.Sprintf("%s at %s", kind, at))})
}

// maxDescription is the maximum length of a description, in code points.
const maxDescription = 256

func short(text string) string {
	if runes := []rune(text); len(runes) > maxDescription {
		return string(runes[:maxDescription])
	}
	return text
}

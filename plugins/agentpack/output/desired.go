// Package desired is the state that a config repo wants: which folders of each target it looks after, and
// which files are to be in them. Fill a State by Add and AddRoot; Sort ends that. It reads nothing.
package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Root is a folder that a target writes into.
type Root struct {
	Target string
	Path   string // absolute
	// ScanExtras says that all files in it are meant to be managed: one that is not, is drift.
	ScanExtras bool
}

// Key names a file of a target's.
type Key struct {
	Target string
	Path   string // absolute
}

// Compare orders keys by target, then path, as plain texts.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Target, other.Target), cmp.Compare(k.Path, other.Path))
}

// File is one file that is wanted.
type File struct {
	Key
	Content []byte
	SHA256  string   // of Content, in hexadecimal
	Modules []string // the ids of the modules that it is made of, sorted
	Origins []Origin // where in those modules, by module
}

// Origin is the file of a module that a file, or a part of it, is made of. Path is relative to the module's
// root, with slashes.
type Origin struct {
	Module string
	Path   string
}

// State is everything that is wanted for the targets of a call.
type State struct {
	Roots []Root // by target and path, each once
	Files []File // by target and path, each once
}

// Owner returns the deepest root of the key's target that holds its path.
func (s *State) Owner(key Key) (Root, bool) {
	var owner Root
	found := false
	for _, root := range s.Roots {
		if root.Target == key.Target && disk.IsBelow(root.Path, key.Path) && (!found || len(root.Path) > len(owner.Path)) {
			owner, found = root, true
		}
	}
	return owner, found
}

// File returns the file that is wanted at a key.
func (s *State) File(key Key) (*File, bool) {
	at, ok := slices.BinarySearchFunc(s.Files, key, func(f File, k Key) int { return f.Compare(k) })
	if !ok {
		return nil, false
	}
	return &s.Files[at], true
}

// Targets returns the targets that have files, sorted.
func (s *State) Targets() []string {
	var targets []string
	for _, file := range s.Files {
		if !slices.Contains(targets, file.Target) {
			targets = append(targets, file.Target)
		}
	}
	return targets
}

// Builder collects a state.
type Builder struct {
	roots []Root
	files map[Key]*File
}

// AddRoot adds a folder. One that is there already stays as it is.
func (b *Builder) AddRoot(root Root) { b.roots = append(b.roots, root) }

// Add adds a file. The same content wanted twice at one path is one file of both modules; another content
// is a conflict.
func (b *Builder) Add(key Key, content []byte, origins ...Origin) error {
	if b.files == nil {
		b.files = map[Key]*File{}
	}
	added := &File{Key: key, Content: content, SHA256: disk.SumBytes(content)}
	added.credit(origins)
	existing, ok := b.files[key]
	if !ok {
		b.files[key] = added
		return nil
	}
	if existing.SHA256 != added.SHA256 {
		return conflict(existing, added)
	}
	existing.credit(origins)
	return nil
}

// credit adds modules that want the file. Of a module that does so twice the first place counts.
func (f *File) credit(origins []Origin) {
	for _, origin := range origins {
		if !slices.Contains(f.Modules, origin.Module) {
			f.Modules = append(f.Modules, origin.Module)
			f.Origins = append(f.Origins, origin)
		}
	}
	slices.Sort(f.Modules)
	slices.SortFunc(f.Origins, func(a, b Origin) int { return cmp.Compare(a.Module, b.Module) })
}

func conflict(existing, added *File) error {
	side := func(f *File) map[string]any {
		return map[string]any{"sha256": f.SHA256, "module_ids": f.Modules}
	}
	return fault.New(fault.DesiredStateConflict, fault.Details{
		"target": added.Target, "path": added.Path, "existing": side(existing), "new": side(added),
	}, "%s: %s and %s want different contents for %s; rename one of the files or leave one of the modules out",
		added.Target, strings.Join(existing.Modules, ", "), strings.Join(added.Modules, ", "), added.Path)
}

// State returns what was collected, in order.
func (b *Builder) State() *State {
	state := &State{Roots: slices.Clone(b.roots)}
	slices.SortStableFunc(state.Roots, func(a, b Root) int {
		return Key{a.Target, a.Path}.Compare(Key{b.Target, b.Path})
	})
	state.Roots = slices.CompactFunc(state.Roots, func(a, b Root) bool { return a.Target == b.Target && a.Path == b.Path })
	for _, file := range b.files {
		state.Files = append(state.Files, *file)
	}
	slices.SortFunc(state.Files, func(a, b File) int { return a.Compare(b.Key) })
	return state
}

// Package output models the files of targets. State is the desired state: the files that a config repo specifies,
// collected by a Builder. Manifest lists the files that a deploy has written to a root; ReadManifests and ManagedKeys
// read manifests. The package reads no other files, and writes none.
package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Root is a directory that a target writes into.
type Root struct {
	Target string
	Path   string // absolute
	// ScanExtras is set if every file in the root should be managed, so that unmanaged files are drift.
	ScanExtras bool
}

// Key identifies a file of a target.
type Key struct {
	Target string
	Path   string // absolute
}

// Compare orders keys by target, then path, as strings.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Target, other.Target), cmp.Compare(k.Path, other.Path))
}

// File is a desired file.
type File struct {
	Key
	Content []byte
	SHA256  string   // of Content, in hexadecimal
	Modules []string // ids of the modules that the file is generated from, sorted
	Origins []Origin // the files of these modules, sorted by module
}

// Origin is a module's file from which a desired file, or a section of a desired file, is generated. Path is relative
// to the module's root, with slashes.
type Origin struct {
	Module string
	Path   string
}

// State is the desired state of the targets that a call selects.
type State struct {
	Roots []Root // by target and path, without duplicates
	Files []File // by target and path, without duplicates
}

// Owner returns the deepest root of the key's target that contains its path.
func (s *State) Owner(key Key) (Root, bool) {
	var owner Root
	found := false
	for _, root := range s.Roots {
		if root.Target == key.Target && contain.Below(root.Path, key.Path) && (!found || len(root.Path) > len(owner.Path)) {
			owner, found = root, true
		}
	}
	return owner, found
}

// File returns the desired file at a key.
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

// AddRoot adds a root. Duplicates are ignored.
func (b *Builder) AddRoot(root Root) { b.roots = append(b.roots, root) }

// Add adds a file that is generated from origins. If the file exists with the same content, Add adds the origins to the
// existing file; if the content differs, it returns a fault.
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

// credit adds origins to the file, and their modules. Of several origins in one module only the first is added.
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

// State returns the collected state, sorted.
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

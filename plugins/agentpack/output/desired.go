// Package output models the files that agentpack writes for targets. State is the desired state, which holds the files
// that a config repo specifies; a Builder collects it. Manifest lists the files that a deploy has written to a root
// directory; ReadManifests and ManagedKeys read manifests. The package reads no other files, and writes none.
package output

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// Root is a directory into which a target writes files.
type Root struct {
	Target string
	Path   string // absolute and clean
	// ScanExtras is set if every file in the root should be managed, so that a file that is not managed is drift.
	ScanExtras bool
}

// Key identifies one file of a target.
type Key struct {
	Target string
	Path   string // an absolute path
}

// Compare orders keys by target and then by path, both as strings.
func (k Key) Compare(other Key) int {
	if order := strings.Compare(k.Target, other.Target); order != 0 {
		return order
	}
	return strings.Compare(k.Path, other.Path) // strings.Compare is called only once, because thousands of paths have long common prefixes
}

// File is a desired file.
type File struct {
	Key
	Content []byte
	SHA256  string   // the SHA-256 of Content, in hexadecimal
	Modules []string // the ids of the modules from which the file is generated, sorted
	Origins []Origin // the files of these modules from which the file is generated, sorted by module
}

// Origin is a file of a module from which a desired file, or a section of a desired file, is generated. Path is
// relative to the root of the module, with slashes.
type Origin struct {
	Module string
	Path   string
}

// State is the desired state of the targets that a call selects.
type State struct {
	Roots []Root // sorted by target and path, without duplicates
	Files []File // sorted by target and path, without duplicates
}

// Owner returns the deepest root that has the target of key and contains the path of key.
func (s *State) Owner(key Key) (Root, bool) {
	var owner Root
	found := false
	path := filepath.Clean(key.Path)
	for _, root := range s.Roots {
		if root.Target == key.Target && isBelow(root.Path, path) && (!found || len(root.Path) > len(owner.Path)) {
			owner, found = root, true
		}
	}
	return owner, found
}

// isBelow returns the same result as contain.Below, but requires clean paths.
func isBelow(dir, path string) bool {
	if dir == path || !strings.HasPrefix(path, dir) {
		return false
	}
	return os.IsPathSeparator(path[len(dir)]) || os.IsPathSeparator(dir[len(dir)-1])
}

// File returns the desired file with the given key, and whether the state has that file.
func (s *State) File(key Key) (*File, bool) {
	at, ok := slices.BinarySearchFunc(s.Files, key, func(f File, k Key) int { return f.Compare(k) })
	if !ok {
		return nil, false
	}
	return &s.Files[at], true
}

// Targets returns the names of the targets that have files, sorted.
func (s *State) Targets() []string {
	var targets []string
	for _, file := range s.Files {
		if !slices.Contains(targets, file.Target) {
			targets = append(targets, file.Target)
		}
	}
	return targets
}

// Builder collects roots and files for a State.
type Builder struct {
	roots []Root
	files map[Key]*File
	added []*File // the added files in the order of the calls of Add, which is nearly sorted, unlike the order of a map
}

// AddRoot adds a root to the state. The state keeps only one of several equal roots.
func (b *Builder) AddRoot(root Root) { b.roots = append(b.roots, root) }

// Add adds a file that is generated from origins. If the state already has the file with the same content, Add adds the
// origins to that file. If the content differs, Add returns a fault.
func (b *Builder) Add(key Key, content []byte, origins ...Origin) error {
	return b.AddSummed(key, content, digest.Hex(content), origins...)
}

// AddSummed adds a file as Add does. The argument sum is the SHA-256 of the content, in hexadecimal.
func (b *Builder) AddSummed(key Key, content []byte, sum string, origins ...Origin) error {
	if b.files == nil {
		b.files = map[Key]*File{}
	}
	added := &File{Key: key, Content: content, SHA256: sum}
	added.credit(origins)
	existing, ok := b.files[key]
	if !ok {
		b.files[key] = added
		b.added = append(b.added, added)
		return nil
	}
	if existing.SHA256 != added.SHA256 {
		return conflict(existing, added)
	}
	existing.credit(origins)
	return nil
}

// credit adds origins to the file, and adds the modules of the origins. Of several origins in one module, it adds only
// the first.
func (f *File) credit(origins []Origin) {
	f.Origins = append(f.Origins, origins...)
	slices.SortStableFunc(f.Origins, func(a, b Origin) int { return cmp.Compare(a.Module, b.Module) })
	f.Origins = slices.CompactFunc(f.Origins, func(a, b Origin) bool { return a.Module == b.Module })
	f.Modules = nil
	for _, origin := range f.Origins {
		f.Modules = append(f.Modules, origin.Module)
	}
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

// State returns the collected roots and files, sorted.
func (b *Builder) State() *State {
	state := &State{Roots: slices.Clone(b.roots)}
	slices.SortStableFunc(state.Roots, func(a, b Root) int {
		return Key{a.Target, a.Path}.Compare(Key{b.Target, b.Path})
	})
	state.Roots = slices.CompactFunc(state.Roots, func(a, b Root) bool { return a.Target == b.Target && a.Path == b.Path })
	slices.SortFunc(b.added, func(a, b *File) int { return a.Compare(b.Key) })
	for _, file := range b.added {
		state.Files = append(state.Files, *file)
	}
	return state
}

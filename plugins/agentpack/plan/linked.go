package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// setLinkedAside removes files from the desired and the managed files if a symbolic link in their path is dangling, or
// resolves to a path outside their root. It adds a warning for each of these files. Tools then neither read nor write
// such a file, and execute the plan for all other files. If a root is a symbolic link to a directory that is not
// granted, setLinkedAside removes all files in the root.
func (r *Prepared) setLinkedAside() {
	l := linkedFiles{state: r.State, sums: r.Sums, bounds: map[output.Root]*disk.Bound{}, outside: map[output.Key]bool{}}
	r.State.Files = slices.DeleteFunc(r.State.Files, func(file output.File) bool { return l.isOutside(file.Key) })
	r.ManagedKeys = slices.DeleteFunc(r.ManagedKeys, l.isOutside)
	for i, dir := range r.ManagedDirs {
		r.ManagedDirs[i].Files = slices.DeleteFunc(dir.Files, func(entry output.ManifestEntry) bool { return l.isOutside(dir.Key(entry)) })
	}
	r.Warnings = append(r.Warnings, l.warnings...)
}

// linkedFiles finds files whose path has a symbolic link that is dangling or resolves to a path outside the root of the
// file.
type linkedFiles struct {
	state    *output.State
	sums     *disk.Sums
	bounds   map[output.Root]*disk.Bound // cached bounds; nil for a root that is not accessible
	outside  map[output.Key]bool         // cached results of the method isOutside
	warnings []string
}

// isOutside reports whether a symbolic link in the path of a file is dangling, or resolves to a path outside the root
// of the file. It ignores other errors, which occur again when a tool reads the file.
func (l *linkedFiles) isOutside(key output.Key) bool {
	if l.sums.IsPlain(key.Path) {
		return false
	}
	outside, known := l.outside[key]
	if !known {
		outside = l.check(key)
		l.outside[key] = outside
	}
	return outside
}

// check computes the result of isOutside without the cache.
func (l *linkedFiles) check(key output.Key) bool {
	root, owned := l.state.Owner(key)
	if !owned {
		return false
	}
	bound, known := l.bounds[root]
	if !known {
		bound = l.open(root)
		l.bounds[root] = bound
	}
	if bound == nil {
		return true
	}
	target, err := bound.Resolve(key.Path)
	switch {
	case err == nil && target.Dangling:
		err = fmt.Errorf("a symbolic link resolves to %s, which does not exist", target.Path)
	case err == nil, fault.Of(err).Details["io_kind"] != disk.KindOutside && !errors.Is(err, syscall.ELOOP):
		return false
	}
	l.warnings = append(l.warnings, fmt.Sprintf("%s is left out: %s; remove the symbolic link to deploy the file", key.Path, err))
	return true
}

// open returns the bound of a root; nil if the root is a symbolic link to a directory that is not granted.
func (l *linkedFiles) open(root output.Root) *disk.Bound {
	bound, err := disk.NewBound(root.Path)
	if err != nil {
		return &bound // Bound.Resolve will return the same error
	}
	if _, err := os.Stat(root.Path); errors.Is(err, fs.ErrPermission) && bound.Real() != root.Path {
		l.warnings = append(l.warnings, fmt.Sprintf("all files of the target %s in %s are left out: this directory is a symbolic link to %s, which is not granted to the plugin",
			root.Target, root.Path, bound.Real()))
		return nil
	}
	return &bound
}

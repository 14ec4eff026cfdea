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

// setLinkedAside removes from the desired and the managed files those that a symbolic link leads out of their
// root or to nothing, with a warning for each: they are neither read nor written, and do not prevent the rest of a plan. A
// root that leads to a directory that is not granted is set aside with all of its files.
func (r *Prepared) setLinkedAside() {
	l := linkedFiles{state: r.State, bounds: map[output.Root]*disk.Bound{}, outside: map[output.Key]bool{}}
	r.State.Files = slices.DeleteFunc(r.State.Files, func(file output.File) bool { return l.isOutside(file.Key) })
	r.ManagedKeys = slices.DeleteFunc(r.ManagedKeys, l.isOutside)
	for i, dir := range r.ManagedDirs {
		r.ManagedDirs[i].Files = slices.DeleteFunc(dir.Files, func(entry output.ManifestEntry) bool { return l.isOutside(dir.Key(entry)) })
	}
	r.Warnings = append(r.Warnings, l.warnings...)
}

// linkedFiles finds files that a symbolic link leads out of their root or to nothing.
type linkedFiles struct {
	state    *output.State
	bounds   map[output.Root]*disk.Bound // nil for a root that is not accessible
	outside  map[output.Key]bool         // files that were found
	warnings []string
}

// isOutside reports whether a symbolic link leads a file out of its root or to nothing. Other errors are left to whoever
// reads the file.
func (l *linkedFiles) isOutside(key output.Key) bool {
	root, owned := l.state.Owner(key)
	if !owned || l.outside[key] {
		return l.outside[key]
	}
	bound, known := l.bounds[root]
	if !known {
		bound = l.open(root)
		l.bounds[root] = bound
	}
	if bound == nil {
		l.outside[key] = true
		return true
	}
	target, err := bound.Resolve(key.Path)
	switch {
	case err == nil && target.Dangling:
		err = fmt.Errorf("a symbolic link leads to %s, which does not exist", target.Path)
	case err == nil, fault.Of(err).Details["io_kind"] != disk.KindOutside && !errors.Is(err, syscall.ELOOP):
		return false
	}
	l.outside[key] = true
	l.warnings = append(l.warnings, fmt.Sprintf("%s is left out: %s: remove the symbolic link to have the file deployed", key.Path, err))
	return true
}

// open returns the bound of a root; nil if it is a symbolic link to a directory that is not granted.
func (l *linkedFiles) open(root output.Root) *disk.Bound {
	bound, err := disk.NewBound(root.Path)
	if err != nil {
		return &bound // its use returns the error
	}
	if _, err := os.Stat(root.Path); errors.Is(err, fs.ErrPermission) && bound.Real() != root.Path {
		l.warnings = append(l.warnings, fmt.Sprintf("all files of %s in %s are left out: it leads to %s by a symbolic link, which is not granted to the plugin",
			root.Target, root.Path, bound.Real()))
		return nil
	}
	return &bound
}

package vfs

import "strings"

// A relative tree is for programs without a working directory of their own. The libraries of C and Rust assume the working directory
// "/", and pass the same path for "src" and "/src". So a path in a mount, or in an alias of one, is absolute, and any other path is
// relative to the working directory. A path that begins with "./" is always relative: wazero builds such paths for files in the opened
// directory ".".
//
// The preopened directory itself remains the root of the tree. A program that lists the preopened descriptor, instead of opening ".",
// lists the root. The target of a new symbolic link is stored as it is.

// inTree returns the path in the tree for a name that a program passed. wazero has cleaned the name, except for a prefix "./" and a final
// slash.
func (f *FS) inTree(name string) string {
	if f.config.WorkingDir == "" {
		return name
	}
	dir := strings.TrimSuffix(f.config.WorkingDir, "/")
	rest, relative := strings.CutPrefix(name, "./")
	if rest == "." || rest == "" {
		return dir + "/."
	}
	path := "/" + strings.TrimSuffix(rest, "/")
	if !relative && (f.config.Mounts.names(path) || dir != "" && Inside(dir, path)) {
		return "/" + rest
	}
	return dir + "/" + rest
}

// names reports whether p is in a mount or an alias of one. A mount of the root does not count, since all paths are in it.
func (ms *Mounts) names(p string) bool {
	if m := ms.containing(p); m != nil && m.Path != "/" {
		return true
	}
	for alias := range ms.aliases {
		if Inside(alias, p) {
			return true
		}
	}
	return false
}

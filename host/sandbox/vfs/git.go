//go:build linux || darwin

package vfs

// InGit tells whether a path is that of a .git, or of something in one, which no module may ever write. The
// path is absolute and clean.
func InGit(path string) bool { return policy{}.readOnly(path) }

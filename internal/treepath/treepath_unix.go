//go:build !windows

package treepath

// Of returns the path in the tree of an absolute path of the host; any other string is returned unchanged.
func Of(path string) string { return path }

// Values returns the values of variables with absolute paths as modules use them.
func Values(env map[string]string) map[string]string { return env }

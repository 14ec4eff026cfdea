package treepath

// Of returns the path in the tree of an absolute path of the host; any other string is returned unchanged.
func Of(path string) string { return fromWindows(path) }

// Values returns the values of variables with absolute paths as modules use them.
func Values(env map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		out[name] = fromWindows(value)
	}
	return out
}

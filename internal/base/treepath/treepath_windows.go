package treepath

// Of converts an absolute path of the host to a path in the file tree of a module. It returns any other string unchanged.
func Of(path string) string { return fromWindows(path) }

// Values converts the values of environment variables, each as Of does.
func Values(env map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		out[name] = fromWindows(value)
	}
	return out
}

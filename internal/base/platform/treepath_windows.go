package platform

// TreePath converts an absolute path of the host to a path in the file tree of a module: C:\Users\x to /C:/Users/x, as in a file URI. It returns any other string unchanged.
func TreePath(path string) string { return fromWindows(path) }

// HostPath converts a path in the file tree of a module back to a path of the host.
func HostPath(path string) string { return toWindows(path) }

// TreeValues converts the values of environment variables, each as TreePath does.
func TreeValues(env map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		out[name] = fromWindows(value)
	}
	return out
}

//go:build !windows

package platform

// TreePath converts an absolute path of the host to a path in the file tree of a module. They are equal except on Windows, where
// C:\Users\x is /C:/Users/x in the file tree, as in a file URI. It returns any other string unchanged.
func TreePath(path string) string { return path }

// HostPath converts a path in the file tree of a module back to a path of the host.
func HostPath(path string) string { return path }

// TreeValues converts the values of environment variables, each as TreePath does.
func TreeValues(env map[string]string) map[string]string { return env }

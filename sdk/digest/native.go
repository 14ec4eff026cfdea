//go:build !wasip1

package digest

// isModule reports whether this process is a module, for which the host can hash. Tests set it.
var isModule = false

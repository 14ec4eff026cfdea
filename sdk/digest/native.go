//go:build !wasip1

package digest

// isModule is whether a host may hash for this process. Tests set it.
var isModule = false

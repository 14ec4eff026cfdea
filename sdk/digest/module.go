//go:build wasip1

package digest

// isModule says whether this process is a module, for which a host may hash.
const isModule = true

//go:build !wasip1

package sdk

// Serve makes p the plugin that this module serves. Call it once, from an init function of package main. In a process that is not a module it
// does nothing, so that the package main of a plugin can be tested natively.
func Serve(*Plugin) {}

//go:build !wasip1

package sdk

// Serve makes p the plugin that this module serves. Call it once, from an init function of package main. Outside of a
// module it does nothing, so that a plugin's package main can be tested natively.
func Serve(*Plugin) {}

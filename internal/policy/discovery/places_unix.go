//go:build unix && !darwin

package discovery

// Defaults of the directories of configuration, state and cache.
var (
	defaultConfig = baseDefault{belowHome: ".config"}
	defaultState  = baseDefault{belowHome: ".local/state"}
	defaultCache  = baseDefault{belowHome: ".cache"}
)

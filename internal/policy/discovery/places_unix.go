//go:build unix && !darwin

package discovery

// Defaults of the directories of configuration, data, state and cache.
var (
	defaultConfig = baseDefault{belowHome: ".config"}
	defaultData   = baseDefault{belowHome: ".local/share"}
	defaultState  = baseDefault{belowHome: ".local/state"}
	defaultCache  = baseDefault{belowHome: ".cache"}
)

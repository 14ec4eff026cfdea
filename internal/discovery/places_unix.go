//go:build unix && !darwin

package discovery

// homeVariable names the user's home directory.
const homeVariable = "HOME"

// Defaults of the directories of configuration, state and cache.
var (
	defaultConfig = baseDefault{belowHome: ".config"}
	defaultState  = baseDefault{belowHome: ".local/state"}
	defaultCache  = baseDefault{belowHome: ".cache"}
)

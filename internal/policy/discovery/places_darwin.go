package discovery

// Defaults of the directories of configuration, state and cache.
var (
	defaultConfig = baseDefault{belowHome: "Library/Application Support"}
	defaultState  = baseDefault{belowHome: ".local/state"}
	defaultCache  = baseDefault{belowHome: "Library/Caches"}
)

package discovery

// Defaults of the directories of configuration, data, state and cache.
var (
	defaultConfig = baseDefault{belowHome: "Library/Application Support"}
	defaultData   = baseDefault{belowHome: "Library/Application Support"}
	defaultState  = baseDefault{belowHome: ".local/state"}
	defaultCache  = baseDefault{belowHome: "Library/Caches"}
)

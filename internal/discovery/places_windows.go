package discovery

// homeVariable names the user's home directory.
const homeVariable = "USERPROFILE"

// Defaults of the directories of configuration, state and cache.
var (
	defaultConfig = baseDefault{variable: "AppData", belowHome: `AppData\Roaming`}
	defaultState  = baseDefault{variable: "LocalAppData", belowHome: `AppData\Local`}
	defaultCache  = baseDefault{variable: "LocalAppData", belowVariable: "cache", belowHome: `AppData\Local\cache`}
)

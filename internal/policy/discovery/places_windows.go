package discovery

import (
	"os"
	"path/filepath"
)

// lookupEnv is like os.LookupEnv, but returns the user's home directory for HOME, which plugins request, if HOME is unset, or if a
// Unix shell has set it to a path that is not absolute on Windows.
func lookupEnv(name string) (string, bool) {
	value, ok := os.LookupEnv(name)
	if home := os.Getenv("USERPROFILE"); name == "HOME" && !filepath.IsAbs(value) && home != "" {
		return home, true
	}
	return value, ok
}

// Defaults of the directories of configuration, data, state and cache.
var (
	defaultConfig = baseDefault{variable: "AppData", belowHome: `AppData\Roaming`}
	defaultData   = baseDefault{variable: "LocalAppData", belowVariable: "data", belowHome: `AppData\Local\data`}
	defaultState  = baseDefault{variable: "LocalAppData", belowHome: `AppData\Local`}
	defaultCache  = baseDefault{variable: "LocalAppData", belowVariable: "cache", belowHome: `AppData\Local\cache`}
)

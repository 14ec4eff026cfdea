package discovery

import (
	"os"
	"path/filepath"
)

// lookupEnv is os.LookupEnv, with the user's home directory for HOME where that is unset, or set by a Unix shell to a path of
// its own. Plugins ask for that variable.
func lookupEnv(name string) (string, bool) {
	value, ok := os.LookupEnv(name)
	if home := os.Getenv("USERPROFILE"); name == "HOME" && !filepath.IsAbs(value) && home != "" {
		return home, true
	}
	return value, ok
}

// Defaults of the directories of configuration, state and cache.
var (
	defaultConfig = baseDefault{variable: "AppData", belowHome: `AppData\Roaming`}
	defaultState  = baseDefault{variable: "LocalAppData", belowHome: `AppData\Local`}
	defaultCache  = baseDefault{variable: "LocalAppData", belowVariable: "cache", belowHome: `AppData\Local\cache`}
)

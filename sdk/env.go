package sdk

import "os"

// LookupEnv returns a variable of the environment, and whether it is set, as os.LookupEnv does. A plugin has only the variables that it
// requests and is granted. WASI does not tell the host which variables a module reads, so only this function can report one that is missing:
// under `bulkhead plugin dev` it logs what to do. Elsewhere it logs nothing, since a missing variable may be intended.
func LookupEnv(name string) (string, bool) {
	value, set := os.LookupEnv(name)
	if _, developed := os.LookupEnv("BULKHEAD_DEVELOPMENT"); developed && !set {
		Log(LevelWarn, "the variable %s is not set: to get it, name it in env of [capabilities] in plugin.toml, and grant it with --env %[1]s=VALUE or in the config", name)
	}
	return value, set
}

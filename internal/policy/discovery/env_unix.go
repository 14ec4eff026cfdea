//go:build unix

package discovery

import "os"

// lookupEnv is like os.LookupEnv, but returns the host's name for HOSTNAME if that is unset, because shells set the variable
// without exporting it.
func lookupEnv(name string) (string, bool) {
	value, ok := os.LookupEnv(name)
	if name == "HOSTNAME" && !ok {
		host, err := os.Hostname()
		return host, err == nil && host != ""
	}
	return value, ok
}

package dispatch

import (
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// openStore opens the store of compiled code in the cache directory, and returns that directory. If the cache directory cannot be used,
// modules are compiled into a temporary directory, and the returned directory is empty.
func openStore(log hclog.Logger, dir string) (*code.Store, string, error) {
	c := code.Config{Dir: dir, Compiler: reexec.Command(reexec.Compiler), Log: log}
	if c.Dir == "" {
		log.Warn("compiled modules are not kept: there is neither $XDG_CACHE_HOME nor a home directory")
		store, err := code.Open(c)
		return store, "", err
	}
	if err := ownedpath.Make(c.Dir); err != nil {
		level := hclog.Warn
		if errors.As(err, new(*ownedpath.Error)) {
			level = hclog.Error // a cache directory that is not safe is not even read, since it contains native code
		}
		log.Log(level, "compiled modules are not kept", "reason", ownedpath.Explain(err))
		c.Dir = ""
		store, err := code.Open(c)
		return store, "", err
	}
	store, err := code.Open(c)
	if err != nil {
		log.Warn("compiled modules are not kept", "reason", err)
		c.Dir = ""
		store, err = code.Open(c)
	}
	return store, c.Dir, err
}

package dispatch

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// openStore opens the store of compiled code in the cache directory, and returns that directory. confined checks what a compiler
// reports of its confinement, and compiled is told of each compilation. If the cache directory cannot be used,
// modules are compiled into a temporary directory, and the returned directory is empty.
func openStore(log hclog.Logger, dir string, confined func(confine.Report) error, compiled func(string, time.Duration, error)) (*code.Store, string, error) {
	c := code.Config{Dir: dir, Compiler: reexec.Command(reexec.Compiler), Confined: confined, Compiled: compiled, Log: log}
	store, err := code.Open(c)
	switch {
	case dir == "":
		log.Warn("compiled modules are not kept: there is neither $XDG_CACHE_HOME nor a home directory")
		return store, "", err
	case err == nil:
		return store, dir, nil
	}
	level := hclog.Warn
	if errors.As(err, new(*ownedpath.Error)) {
		level = hclog.Error // a cache directory that is not safe is not even read, since it contains native code
	}
	log.Log(level, "compiled modules are not kept", "reason", ownedpath.Explain(err))
	c.Dir = ""
	store, err = code.Open(c)
	return store, "", err
}

//go:build wasip1

package sdk

import (
	"encoding/base64"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

var served *Plugin

// Serve makes p the plugin that this module serves. Call it once, from an init function of package main: a second call
// panics.
func Serve(p *Plugin) {
	if served != nil {
		panic("sdk: Serve is called twice")
	}
	served = p
}

//go:wasmexport bulkhead_abi_1
func abi1() {}

//go:wasmexport bulkhead_call
func call(n uint32) {
	if served == nil {
		panic("sdk: no plugin is served: call sdk.Serve from an init function of package main")
	}
	imports.Output(served.Dispatch(imports.Input(n)))
}

// This init function prepares the types that host operations encode or decode: those that all operations need, and those of the operations
// that most plugins perform. rawjson.Prepare explains the reason.
func init() {
	rawjson.Prepare(abi.HostRequest{}, abi.HostResponse{}, abi.HostError{}, abi.Lock{}, abi.FileMode{}, abi.FileModeResult{}, abi.FileCreateMode{}, abi.GitPath{},
		abi.GitTopLevel{}, abi.GitRepo{}, abi.GitHead{}, abi.GitRemote{}, abi.GitURL{}, abi.GitPaths{}, abi.GitIgnored{})
}

// This init function sets time.Local to the time zone of the host: WASI has no time zones, and Go's wasip1 port ignores TZ.
func init() {
	data, err := base64.StdEncoding.DecodeString(os.Getenv("BULKHEAD_ZONEINFO"))
	if err != nil || len(data) == 0 {
		return
	}
	if zone, err := time.LoadLocationFromTZData("Local", data); err == nil {
		time.Local = zone
	}
}

// This init function makes the garbage collector run less often. An instance runs one call at a time on one processor, and the host restores
// or frees the whole memory of the instance after the call. With Go's default setting, collections took a third of the time of a call with
// megabytes of data. The heap may grow to five times the live data, until it comes near the module's limit.
func init() {
	limit, err := strconv.ParseInt(os.Getenv("BULKHEAD_MEMORY"), 10, 64)
	if err != nil || limit <= 0 {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(limit / 4 * 3) // leaves a quarter of the limit for memory that SetMemoryLimit does not count
}

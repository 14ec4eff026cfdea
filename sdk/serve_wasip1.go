//go:build wasip1

package sdk

import (
	"encoding/base64"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/internal/border"
)

var served *Plugin

// Serve makes p the plugin that this module is. Call it once, from an init function of package main: a
// second call panics.
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
		panic("sdk: nothing is served: call sdk.Serve from an init function of package main")
	}
	border.Output(served.Dispatch(border.Input(n)))
}

// init gives time.Local the zone of the host: WASI knows none, and Go's wasip1 ignores TZ.
func init() {
	data, err := base64.StdEncoding.DecodeString(os.Getenv("BULKHEAD_ZONEINFO"))
	if err != nil || len(data) == 0 {
		return
	}
	if zone, err := time.LoadLocationFromTZData("Local", data); err == nil {
		time.Local = zone
	}
}

// init suits the garbage collector to an instance, which has one call to live, no second processor to collect on, and
// memory of its own that the host takes back as a whole: to collect as often as a server does was seen to take a third
// of the time of a call that holds megabytes. The heap may grow to five times what is alive, until it comes near the
// module's limit.
func init() {
	limit, err := strconv.ParseInt(os.Getenv("BULKHEAD_MEMORY"), 10, 64)
	if err != nil || limit <= 0 {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(limit / 4 * 3) // the rest is for what the collector does not count, and its last garbage
}

package engine

import (
	"runtime"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/engine/meter"
)

// bytesPerFuel is the number of bytes that the host copies for one unit of fuel, about as many as a guest copies for one
// unit.
const bytesPerFuel = 16

func (c *call) resetCounters() {
	c.fuelGranted = c.nextQuantum()
	c.fuel().Set(uint64(c.fuelGranted))
	c.instance.stack.Set(meter.DefaultStack)
}

// nextQuantum returns the fuel to grant next: meter.Quantum, some fifty microseconds of work, or the rest of the limit.
func (c *call) nextQuantum() int64 {
	if limit := c.module.spec.Fuel; limit > 0 {
		return min(meter.Quantum, limit-c.fuelGranted)
	}
	return meter.Quantum
}

// shortCall is the number of quanta after which Request.Busy is called, some fifty microseconds each.
const shortCall = 16

// yield is called by the module when its fuel is used up. It lets other goroutines run, ends the call if its time limit has
// passed or it was cancelled, and grants more fuel.
func (c *call) yield() {
	if c.yields++; c.yields >= shortCall {
		c.busy()
	}
	runtime.Gosched()
	c.checkContext()
	fuel := c.fuel()
	left := int64(fuel.Get())
	for left < 0 {
		quantum := c.nextQuantum()
		if quantum <= 0 {
			c.abortFuel(c.module.spec.Fuel)
		}
		left += quantum
		c.fuelGranted += quantum
	}
	fuel.Set(uint64(left))
}

func (c *call) abortFuel(limit int64) {
	c.abort(c.module.errorf(CodeFuel, nil, "used up its fuel limit of %d instructions", limit))
}

// charge takes fuel for bytes that the host copies on the guest's behalf.
func (c *call) charge(bytes int) {
	fuel := c.fuel()
	fuel.Set(uint64(int64(fuel.Get()) - int64(bytes/bytesPerFuel)))
}

// fuelUsed returns the fuel that the call has used.
func (c *call) fuelUsed() int64 {
	return max(0, c.fuelGranted-int64(c.fuel().Get()))
}

func (c *call) fuel() api.MutableGlobal { return c.instance.fuel }

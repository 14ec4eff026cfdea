package engine

import (
	"runtime"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
)

// bytesPerFuel is what the host's own copying costs a module, as its own would.
const bytesPerFuel = 16

// begin sets the counters for a call.
func (c *call) begin() {
	c.granted = c.more()
	c.fuel().Set(uint64(c.granted))
	c.instance.stack.Set(meter.DefaultStack)
}

// more is how much fuel a call gets next: some fifty microseconds' worth, or what is left of its limit.
func (c *call) more() int64 {
	if limit := c.module.spec.Fuel; limit > 0 {
		return min(meter.Quantum, limit-c.granted)
	}
	return meter.Quantum
}

// shortCall is how many quanta a call may take, some fifty microseconds each, before it counts as one that takes long.
const shortCall = 16

// yield is called by the module when its fuel is used up: others run, and the call's end is looked at.
func (c *call) yield() {
	if c.yields++; c.yields >= shortCall {
		c.busy()
	}
	runtime.Gosched()
	c.checkTime()
	fuel := c.fuel()
	left := int64(fuel.Get())
	for left < 0 {
		more := c.more()
		if more <= 0 {
			c.end(c.module.fail(CodeFuel, nil, "used up its fuel limit of %d instructions", c.module.spec.Fuel))
		}
		left += more
		c.granted += more
	}
	fuel.Set(uint64(left))
}

// charge takes fuel for bytes that the host copies.
func (c *call) charge(bytes int) {
	fuel := c.fuel()
	fuel.Set(uint64(int64(fuel.Get()) - int64(bytes/bytesPerFuel)))
}

// used is the fuel that the call has taken.
func (c *call) used() int64 {
	return max(0, c.granted-int64(c.fuel().Get()))
}

func (c *call) fuel() api.MutableGlobal { return c.instance.fuel }

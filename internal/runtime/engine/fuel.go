package engine

import (
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// bytesPerFuel is the number of bytes that the host copies for one unit of fuel, about as many as a guest copies for one
// unit.
const bytesPerFuel = 16

func (c *execution) resetCounters() {
	c.fuelGranted = c.nextQuantum()
	c.fuel().Set(uint64(c.fuelGranted))
	c.instance.stack.Set(meter.DefaultStack)
	c.instance.errno.Set(meter.ErrnoIO)
}

// nextQuantum returns the fuel to grant next: meter.Quantum, which is some ten microseconds of work, or the rest of the fuel
// limit if the rest is less.
func (c *execution) nextQuantum() int64 {
	if c.fuelLimit > 0 {
		return min(meter.Quantum, c.fuelLimit-c.fuelGranted)
	}
	return meter.Quantum
}

// shortCall is the number of quanta after which Prepared.Busy is called, also within a WASI call.
const shortCall = 16

// timeSlice is how long a module runs before it yields to other goroutines. Timers and cancellations take effect then, too.
// The module does not yield after each quantum, because each yield wakes an idle thread, which took a tenth of the
// processor time of long calls.
const timeSlice = 100 * time.Microsecond

// yield is called by the module when its fuel is used up. It lets other goroutines run, ends the call if its time limit has
// passed or it was cancelled, and grants more fuel.
func (c *execution) yield() {
	c.busyIfLong()
	if now := time.Now(); c.yielded.IsZero() { // a short call does not yield
		c.yielded = now
	} else if now.Sub(c.yielded) >= timeSlice {
		runtime.Gosched()
		c.yielded = now
	}
	c.checkContext()
	fuel := c.fuel()
	left := int64(fuel.Get())
	for left < 0 {
		quantum := c.nextQuantum()
		if quantum <= 0 {
			c.abort(c.outOfFuel())
		}
		left += quantum
		c.fuelGranted += quantum
	}
	fuel.Set(uint64(left))
}

// busyIfLong calls busy if the call has used shortCall quanta. A single WASI call can use many quanta.
func (c *execution) busyIfLong() {
	if c.fuelUsed() >= shortCall*meter.Quantum {
		c.busy()
	}
}

// charge deducts fuel for bytes that the host copies on the guest's behalf.
func (c *execution) charge(bytes int) { c.chargeFuel(int64(bytes / bytesPerFuel)) }

func (c *execution) chargeFuel(n int64) {
	fuel := c.fuel()
	fuel.Set(uint64(int64(fuel.Get()) - n))
}

// fuelUsed returns the fuel that the call has used.
func (c *execution) fuelUsed() int64 {
	return max(0, c.fuelGranted-int64(c.fuel().Get()))
}

func (c *execution) fuel() api.MutableGlobal { return c.instance.fuel }

// fuelLeft returns the fuel that a call may still use, and whether the call has a fuel limit. c is nil outside of a call.
func (c *execution) fuelLeft() (left int64, limited bool) {
	if c == nil || c.fuelLimit == 0 {
		return 0, false
	}
	return c.fuelLimit - c.fuelUsed(), true
}

// outOfFuel returns the failure of a call that has used up its fuel.
func (c *execution) outOfFuel() *Error {
	return c.module.errorf(CodeFuel, nil, "used up its fuel limit of %d instructions", c.fuelLimit)
}

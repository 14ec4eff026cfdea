package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A derive function computes data from the content of one file. Its result must depend on that content only, since the
// host caches the result and returns it to other calls. So the function runs in an instance of its own, which starts each
// derivation from the same snapshot and has no files, variables, arguments or operations. The clocks and random numbers of
// the instance are deterministic, and its limits are constants, which no config changes.
const (
	DeriveMemory = 32 << 20      // bytes of linear memory
	deriveFuel   = 2_000_000_000 // instructions of one derivation; executing them takes some seconds
)

// Errors of Derive. Any other error means that the call that asked for the data must end.
var (
	ErrUnavailable = errors.New("the module has no derive functions that this host can run")
	// ErrDerivation is wrapped if the function failed for this content. Do not cache the failure, because it may be due to
	// a lack of memory in the system.
	ErrDerivation = errors.New("the derive function failed")
)

// deriver runs the derive functions of a module, one derivation at a time.
type deriver struct {
	module   *Module       // a second Module with the same program as the plugin's; its entry is abi.ExportDerive
	turn     chan struct{} // has capacity 1, and is full while a derivation runs
	unusable bool          // no snapshot can be taken; guarded by turn
}

// newDeriver returns nil if the module has no derive functions, or its instances cannot be restored or need too much memory.
func newDeriver(m *Module) *deriver {
	if m.entry != abi.ExportCall { // only ABI 1 has derive functions
		return nil
	}
	if m.program.Compiled.ExportedFunctions()[abi.ExportDerive] == nil || !m.program.Restorable || m.initialMemory() > DeriveMemory {
		return nil
	}
	spec := Spec{
		Name: m.spec.Name, File: m.spec.File, Memory: DeriveMemory, Output: abi.MaxScanDerived, Fuel: deriveFuel,
		Time: m.spec.Time, Tracker: m.spec.Tracker, Idle: m.spec.Idle, Log: m.spec.Log,
	}
	if m.spec.Credit != nil {
		spec.Credit = &prepaid{Credit: m.spec.Credit, left: m.deriveCost()}
	}
	d := &deriver{module: &Module{spec: spec.withDefaults(), kind: m.kind, entry: abi.ExportDerive, program: m.program, pool: &pool{}}, turn: make(chan struct{}, 1)}
	d.module.trackCalls(0) // starts the idle timer
	return d
}

// derives reports whether the module's instances are derive instances.
func (m *Module) derives() bool { return m.entry == abi.ExportDerive }

// Derives reports whether Derive can run derive functions.
func (m *Module) Derives() bool { return m.deriver != nil }

// DeriveCost returns the credit that the caller takes once before the first Derive, and does not give back: so no call waits for memory
// in Derive, where others may wait for it.
func (m *Module) DeriveCost() int64 {
	if m.deriver == nil {
		return 0
	}
	return m.deriveCost()
}

// deriveCost estimates what an instance and its snapshot need from the snapshot of the plugin's calls, which has run the same program.
func (m *Module) deriveCost() int64 {
	const working = 4 << 20
	size := m.initialMemory()
	if m.snapshot != nil {
		size = max(size, int64(len(m.snapshot.memory)))
	}
	return instanceCost + 3*min(size, DeriveMemory) + working
}

// Derive returns what a derive function of the module computes from content. The first derivation creates an instance.
// Derivations of a module run one at a time. If ctx is the context of a host operation (see Spec.Operate), the fuel is
// charged to the call that performs the operation; then only the goroutine that runs the operation may call Derive. An
// error is ErrUnavailable, wraps ErrDerivation, or is an *Error with the reason why the call must end.
func (m *Module) Derive(ctx context.Context, function uint32, content []byte) ([]byte, error) {
	d := m.deriver
	if d == nil {
		return nil, ErrUnavailable
	}
	if len(content) > abi.MaxScanInput {
		return nil, fmt.Errorf("%w: the file has %d bytes, and the limit is %d", ErrDerivation, len(content), abi.MaxScanInput)
	}
	if failure := m.contextError(ctx); failure != nil {
		return nil, failure
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, m.contextError(ctx)
	}
	defer func() { <-d.turn }()
	d.module.trackCalls(1)
	defer d.module.trackCalls(-1)
	payer, _ := ctx.Value(executionKey{}).(*execution)
	if err := d.prepare(ctx, payer); err != nil {
		return nil, err
	}
	return d.derive(ctx, payer, function, content)
}

// prepare takes the snapshot unless it was taken before.
func (d *deriver) prepare(ctx context.Context, payer *execution) error {
	if d.module.snapshot != nil {
		return nil
	}
	if d.unusable {
		return ErrUnavailable
	}
	failure := d.takeSnapshot(ctx, payer, true)
	// Results depend on the snapshot, so the load of the machine must not decide which kind of snapshot is used. If the
	// first kind failed for lack of memory or time, the second kind is not tried.
	if failure != nil && failure.Code != CodeMemory && d.module.contextError(ctx) == nil {
		failure = d.takeSnapshot(ctx, payer, false)
	}
	if failure == nil {
		return nil
	}
	if stopped := d.module.contextError(ctx); stopped != nil {
		return stopped
	}
	if errors.Is(failure, errNoCredit) {
		return failure
	}
	d.unusable = true
	d.module.spec.Log.Warn("the derive functions cannot run", "plugin", d.module.spec.Name, "reason", failure.Message)
	return ErrUnavailable
}

// takeSnapshot takes the snapshot after _initialize and, if warm is set, one derivation of empty content. In this derivation
// a module with a language runtime initializes what all later derivations need. Results depend on the snapshot, so this
// derivation always has the full fuel limit, even if the asking call has less fuel left.
func (d *deriver) takeSnapshot(ctx context.Context, payer *execution, warm bool) *Error {
	inst, failure := d.module.newInstance(ctx)
	if failure != nil {
		return failure
	}
	if warm {
		c := newExecution(ctx, d.module, inst)
		_, failure = inst.derive(c, 0, nil)
		payer.chargeDerivation(c)
	} else {
		failure = inst.starved()
	}
	if failure != nil && failure.Code != CodeNoResponse {
		inst.close()
		return failure
	}
	snapshot, err := inst.capture(ctx)
	if err != nil {
		inst.close()
		return d.module.noCredit(ctx, err)
	}
	d.module.snapshot = snapshot
	d.module.pool.add(inst)
	return nil
}

// derive runs one derivation.
func (d *deriver) derive(ctx context.Context, payer *execution, function uint32, content []byte) ([]byte, error) {
	inst, failure := d.acquire(ctx, payer)
	if failure != nil {
		return nil, d.errorOf(ctx, failure)
	}
	c := newExecution(ctx, d.module, inst)
	left, limited := payer.fuelLeft()
	limited = limited && left < c.fuelLimit
	if limited {
		c.fuelLimit = max(1, left)
	}
	response, failure := inst.derive(c, function, content)
	payer.chargeDerivation(c)
	if failure != nil && failure.Code != CodeNoResponse || !inst.restore(d.module.snapshot, func() {}) {
		inst.close()
	} else {
		d.module.pool.add(inst)
	}
	switch {
	case failure == nil:
		return response.Body, nil
	case failure.Code == CodeFuel && limited:
		return nil, payer.outOfFuel()
	}
	return nil, d.errorOf(ctx, failure)
}

// acquire returns an idle instance, or a new one. A derivation that follows one that trapped needs a new instance. The
// asking call is charged for a new instance: for the module's start function and for the copy of the snapshot.
func (d *deriver) acquire(ctx context.Context, payer *execution) (*instance, *Error) {
	if inst := d.module.pool.take(ctx, func() {}); inst != nil {
		return inst, nil
	}
	inst, failure := d.module.newInstance(ctx)
	if failure == nil && payer != nil {
		payer.chargeFuel(inst.startFuel)
		payer.charge(len(d.module.snapshot.memory))
	}
	return inst, failure
}

// errorOf returns the error of Derive for a failure.
func (d *deriver) errorOf(ctx context.Context, failure *Error) error {
	if stopped := d.module.contextError(ctx); stopped != nil {
		return stopped
	}
	if errors.Is(failure, errNoCredit) {
		return failure
	}
	return fmt.Errorf("%w: %w", ErrDerivation, failure)
}

// derive runs abi.ExportDerive as the call c. After an error other than CodeNoResponse the instance must not be used again.
func (i *instance) derive(c *execution, function uint32, content []byte) (Held, *Error) {
	c.request, c.hasRequest = content, true
	response, failure := i.answer(c, uint64(function), uint64(len(content)))
	return response, cmp.Or(i.starved(), failure)
}

// starved returns an error if the system refused memory: a module notices a refusal, and could make its result depend
// on it.
func (i *instance) starved() *Error {
	if i.memory.starved {
		return i.owner.errorf(CodeMemory, nil, "cannot derive data: the system has not enough memory")
	}
	return nil
}

// chargeDerivation charges the call c for a derivation.
func (c *execution) chargeDerivation(derivation *execution) {
	if c != nil {
		c.chargeFuel(derivation.fuelUsed())
	}
}

// sources are the deterministic clock and random numbers of a derive instance. They are part of its state.
type sources struct {
	clock  int64 // nanoseconds since the instance was created; every reading and sleep adds to it
	random rand.ChaCha8
}

func newSources() sources { return sources{random: *rand.NewChaCha8([32]byte{})} }

const (
	deriveEpoch = 946_684_800 // 2000-01-01, in seconds since the Unix epoch: the time at which each derive instance is created
	clockStep   = 1000        // nanoseconds between two readings
	maxClock    = 1 << 62
)

// now advances the clock and returns it.
func (s *sources) now() int64 {
	s.sleep(clockStep)
	return s.clock
}

// sleep advances the clock, up to its maximum.
func (s *sources) sleep(ns int64) { s.clock += max(0, min(ns, maxClock-s.clock)) }

// configureSources configures WASI for a derive instance. The output of the instance is discarded.
func (i *instance) configureSources(config wazero.ModuleConfig) wazero.ModuleConfig {
	walltime := func() (int64, int32) {
		now := i.sources.now()
		return deriveEpoch + now/1e9, int32(now % 1e9)
	}
	return config.
		WithWalltime(walltime, clockStep).
		WithNanotime(i.sources.now, clockStep).
		WithNanosleep(i.sources.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(randomSource{i})
}

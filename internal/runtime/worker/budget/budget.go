// Package budget divides the memory budget of the server among its workers. A worker has credit: the bytes that it may use. It gets the
// first credit before its process starts, asks for more before its memory grows, and returns what it does not need while memory is short.
// The credit of all workers is at most the budget, unless a single worker has all of it and only one call runs.
//
// A request that does not fit waits. Requests of calls that run come first, the oldest call's before the others. Then principals take turns:
// the next request, for a start or to begin, is the oldest one of the principal whose last turn was the longest ago. So while the first
// request of a principal waits, each other principal gets at most one turn, and none is overtaken for ever: while a running call needs
// memory, or a start has waited for long, no call begins out of turn. A start that calls of several principals wait for has a turn when any
// of them has.
//
// While requests wait, these are the sources of memory, in this order: credit that workers return; idle workers, which are ended if that
// makes room for the first request; calls that end. If all calls wait for memory, one that has written nothing ends with ErrBusy, so that
// there is no deadlock: the newest one of the principal with most of them. If all of them have written something, it gets ErrRefused
// instead, and continues without the memory.
//
// A call can wait for calls that it makes itself in other workers: it is suspended. It frees no memory then, so it counts as one that waits.
// What it waits for gets memory beyond the budget if all else are suspended: its caller admits no more such calls than leave room for theirs.
package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Errors of requests for credit.
var (
	// ErrBusy ends a call that has written nothing. It can be repeated.
	ErrBusy = errors.New("other calls use the server's memory")
	// ErrRefused refuses memory to a call that has written something.
	ErrRefused = errors.New("the memory was refused: other calls use the server's memory")
	// ErrLimit refuses credit above the limit of a worker.
	ErrLimit = errors.New("the worker may not have so much memory")
	// ErrReturn is the error of Return for bytes that were not granted.
	ErrReturn = errors.New("more credit was returned than granted")
)

// Worker is a worker process. Its methods must neither block nor call the Budget.
type Worker interface {
	// Active returns the number of calls in flight.
	Active() int
	// Evict ends the process if it is idle and not about to get a call, and reports whether it did. Account.Close must follow.
	Evict(reason string) bool
	// Tell tells the process whether memory is short. A process that is told true answers by Account.Return, with 0 if it has calls and
	// nothing to return, and returns what it does not need until it is told false.
	Tell(short bool)
}

const (
	// Chunk is the credit that a worker gets at once if memory is not short, so that it seldom asks.
	Chunk = 16 << 20
	// MinChunk is the unit of credit.
	MinChunk = 1 << 20
	// returnTime is how long requests wait for workers to return credit before idle workers are ended.
	returnTime = 100 * time.Millisecond
	// retryTime is the time after which an idle worker that could not be ended is tried again.
	retryTime = 10 * time.Millisecond
	// shortTime is how long memory is considered short after the last request that waited.
	shortTime = time.Second
	// turnTime is the time after which a call that waits for the start of its worker holds newer calls back, so that another worker
	// becomes idle.
	turnTime = time.Second
)

// Budget is the memory of all workers. It is safe for concurrent use.
type Budget struct {
	mu       sync.Mutex
	total    int64
	credit   int64  // sum of the accounts' credit
	calls    uint64 // number of calls that have begun
	uses     uint64 // number of times that a worker started or a call ended
	accounts map[*Account]struct{}
	waiters  []*waiter // sorted by age, oldest first
	turns    uint64    // number of turns that principals have had
	short    bool      // whether the workers were told that memory is short
	asked    time.Time // when they were told
	relaxing *time.Timer
	retrying *time.Timer
}

// Account is the credit of one worker process. It is safe for concurrent use.
type Account struct {
	budget *Budget
	limit  int64

	// The following fields are guarded by Budget.mu.
	worker   Worker // nil until Serve
	credit   int64
	waiting  int    // number of calls that wait for credit
	nesting  int    // number of calls that are suspended
	used     uint64 // value of Budget.uses at the last use
	answered bool   // whether the worker has answered to Tell(true)
	ending   bool   // whether Evict has ended the process
	closed   bool
}

// Call identifies a call that requests credit.
type Call struct {
	Age       uint64        // set by Budget.Begin
	Principal string        // on whose behalf the call is made
	Wrote     bool          // whether the call may have written something
	Patience  time.Duration // maximum time that the request waits
	Others    *Others       // of calls that wait for the same start; nil if there cannot be any
}

// Others are the principals of further calls that wait for a start. The zero value has none.
type Others struct {
	// The following fields are guarded by Budget.mu.
	principals []string
	start      *waiter // nil until the start waits
}

// New returns a Budget of so many bytes.
func New(total int64) *Budget {
	return &Budget{total: total, accounts: map[*Account]struct{}{}}
}

// Total returns the size of the budget in bytes.
func (b *Budget) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Credit returns the sum of the credit of all workers, in bytes.
func (b *Budget) Credit() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.credit
}

// Waiting returns the number of requests that wait.
func (b *Budget) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiters)
}

// SetTotal changes the size of the budget. Workers keep their credit.
func (b *Budget) SetTotal(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = total
	b.settle()
}

// Begin registers a call and returns it with its age, which grows from call to call. While another call needs memory to continue, or waits
// for the start of its worker for long, Begin waits too.
func (b *Budget) Begin(ctx context.Context, c Call) (Call, error) {
	b.mu.Lock()
	b.calls++
	c.Age = b.calls
	if !slices.ContainsFunc(b.waiters, (*waiter).holdsBack) {
		b.mu.Unlock()
		return c, nil
	}
	return c, b.await(ctx, &waiter{call: c})
}

// Join states that a call of a principal waits for the start of o, too.
func (b *Budget) Join(o *Others, principal string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(o.principals, principal) {
		return
	}
	o.principals = append(o.principals, principal)
	if o.start != nil {
		b.join(o.start, principal)
		b.settle()
	}
}

// Open returns the account of a worker that is about to start, with bytes of credit. The worker can get credit up to limit.
func (b *Budget) Open(ctx context.Context, c Call, bytes, limit int64) (*Account, error) {
	a := &Account{budget: b, limit: max(limit, bytes)}
	b.mu.Lock()
	return a, b.await(ctx, &waiter{call: c, account: a, bytes: bytes, starts: true})
}

// Serve sets the process of the account once it can get calls.
func (a *Account) Serve(w Worker) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.worker = w
	a.use()
	if a.budget.short {
		w.Tell(true)
	}
}

// Grow adds at least bytes to the credit, and returns what it has added.
func (a *Account) Grow(ctx context.Context, c Call, bytes int64) (int64, error) {
	b := a.budget
	b.mu.Lock()
	room := a.limit - a.credit
	if bytes > room || roundUp(bytes, MinChunk) > room || a.closed { // the first comparison bounds what is rounded up
		b.mu.Unlock()
		return 0, ErrLimit
	}
	bytes = roundUp(bytes, MinChunk)
	if more := min(roundUp(bytes, Chunk), room); len(b.waiters) == 0 && b.credit+more <= b.total {
		bytes = more
	}
	if err := b.await(ctx, &waiter{call: c, account: a, bytes: bytes}); err != nil {
		return 0, err
	}
	return bytes, nil
}

// roundUp returns the least multiple of unit that is at least bytes, and not negative.
func roundUp(bytes, unit int64) int64 { return (max(bytes, 0) + unit - 1) / unit * unit }

// Return takes back credit that the worker does not need. 0 answers Worker.Tell.
func (a *Account) Return(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	if a.closed { // Close has taken all of it back, while the message was on its way
		return nil
	}
	if bytes < 0 || bytes > a.credit {
		return ErrReturn
	}
	a.answered = true
	a.add(-bytes)
	a.budget.settle()
	return nil
}

// Left tells that a call of the worker has ended.
func (a *Account) Left() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.use()
	a.budget.settle()
}

// Suspend states that a call of the worker waits for other calls, until Resume is called.
func (a *Account) Suspend() { a.nest(1) }

// Resume states that a suspended call continues.
func (a *Account) Resume() { a.nest(-1) }

func (a *Account) nest(n int) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.nesting += n
	a.budget.settle()
}

// isSuspended reports whether the worker has calls, all of which are suspended.
func (a *Account) isSuspended() bool { return a.nesting > 0 && a.worker.Active() <= a.nesting }

// Close returns all credit when the process has ended. Further calls have no effect.
func (a *Account) Close() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	for _, w := range slices.Clone(a.budget.waiters) {
		if w.account == a {
			a.budget.end(w, ErrBusy)
		}
	}
	delete(a.budget.accounts, a)
	a.add(-a.credit)
	a.budget.settle()
}

// Bound returns the bytes that the worker may use now, and the most that it can ever get.
func (a *Account) Bound() (credit, limit int64) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.credit, a.limit
}

func (a *Account) add(bytes int64) {
	a.credit += bytes
	a.budget.credit += bytes
}

// use makes the worker the most recently used one.
func (a *Account) use() {
	a.budget.uses++
	a.used = a.budget.uses
}

// isIdle reports whether the worker has no calls and is not ending.
func (a *Account) isIdle() bool { return a.worker != nil && !a.ending && a.worker.Active() == 0 }

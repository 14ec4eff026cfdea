// Package quota bounds what each principal uses of a server: requests a second, calls at the same time, bytes and fuel a day, and calls that wait
// for an answer of the client. A Backend applies the bounds of a view to calls; the HTTP transport asks its Account about requests. What was
// used is kept in memory only, for a day of UTC.
package quota

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// Limits are the bounds of one principal. A field that is 0 bounds nothing.
type Limits struct {
	Requests   int64 // requests a second
	Burst      int64 // requests at once; 0: Requests
	Concurrent int64 // calls at the same time
	Bytes      int64 // bytes of requests and answers a day
	Fuel       int64 // fuel a day
	Questions  int64 // calls that wait for an answer of the client
}

// Exceeded is the error for what a principal may not do now.
type Exceeded struct {
	Key   string        // of the bound, as the config calls it
	Limit int64         // the bound
	Wait  time.Duration // after which to try again; 0: when another call has ended
}

func (e *Exceeded) Error() string {
	return fmt.Sprintf("the quota of this client is exceeded: %s = %d", e.Key, e.Limit)
}

// RetryAfter returns the time to wait in whole seconds, at least 1.
func (e *Exceeded) RetryAfter() int64 { return max(1, int64((e.Wait+time.Second-1)/time.Second)) }

// Bounds of a Book.
const (
	maxAccounts = 1 << 14     // principals of which a Book knows what they use
	sweepTime   = time.Second // between two searches for accounts that can be dropped, which read all of them
)

// Book has the accounts of all principals of a server, whatever their views.
type Book struct {
	mu       sync.Mutex
	accounts map[string]*Account
	swept    time.Time
	exceeded map[string]int64 // number of refused requests, by key
}

// Stats returns the number of accounts, and how often each bound was exceeded.
func (b *Book) Stats() (accounts int, exceeded map[string]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.accounts), maps.Clone(b.exceeded)
}

// count counts a refused request.
func (b *Book) count(e *Exceeded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.exceeded == nil {
		b.exceeded = map[string]int64{}
	}
	b.exceeded[e.Key]++
}

// account returns the account of a principal, to which limits apply; nil if there are too many that are in use.
func (b *Book) account(id string, l Limits, now time.Time) *Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.accounts[id]; a != nil {
		return a
	}
	if b.accounts == nil {
		b.accounts = map[string]*Account{}
	}
	if len(b.accounts) >= maxAccounts && now.Sub(b.swept) >= sweepTime {
		b.swept = now
		maps.DeleteFunc(b.accounts, func(_ string, a *Account) bool { return a.isForgettable(now) })
	}
	if len(b.accounts) >= maxAccounts {
		return nil
	}
	a := &Account{limits: l, used: now, day: dayOf(now)}
	b.accounts[id] = a
	return a
}

// Account is what one principal uses. It is safe for concurrent use.
type Account struct {
	mu          sync.Mutex
	limits      Limits    // at the last request
	used        time.Time // time of that request
	day         int64     // of UTC, to which bytes and fuel belong
	bytes, fuel int64
	calls       int64
	questions   int64
	tokens      float64 // requests that may be made at once
	filled      time.Time
}

func dayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// untilTomorrow returns the time until the next day of UTC.
func untilTomorrow(now time.Time) time.Duration {
	return time.Unix((dayOf(now)+1)*24*60*60, 0).Sub(now)
}

// isForgettable reports whether a new account would allow the principal no more than this one.
func (a *Account) isForgettable(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	refilled := sweepTime
	if a.limits.Requests > 0 {
		refilled += time.Duration((a.limits.burst() - min(0, a.tokens)) / float64(a.limits.Requests) * float64(time.Second))
	}
	return a.calls == 0 && a.questions == 0 && now.Sub(a.used) >= refilled && (a.day != dayOf(now) || a.limits.Bytes == 0 && a.limits.Fuel == 0)
}

// begins applies limits to a request, and begins a new day if one has begun.
func (a *Account) begins(l Limits, now time.Time) {
	a.limits, a.used = l, now
	a.turn(now)
}

// turn begins a new day if one has begun.
func (a *Account) turn(now time.Time) {
	if today := dayOf(now); a.day != today {
		a.day, a.bytes, a.fuel = today, 0, 0
	}
}

// burst returns the requests that may be made at once.
func (l Limits) burst() float64 {
	if l.Burst == 0 {
		return float64(l.Requests)
	}
	return float64(l.Burst)
}

// Request counts n requests, of that many bytes together. The error is an *Exceeded; then they count as none.
func (a *Account) Request(l Limits, n int, bytes int64, now time.Time) error {
	return a.count(l, n, bytes, now, 1)
}

// Message counts a notification or an answer as a request. Since calls in flight may need it, it is refused at twice the limits only.
func (a *Account) Message(l Limits, bytes int64, now time.Time) error {
	return a.count(l, 1, bytes, now, 2)
}

// count counts n messages, unless the limits, of which each may be exceeded by a factor, refuse them.
func (a *Account) count(l Limits, n int, bytes int64, now time.Time, factor int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begins(l, now)
	if l.Bytes > 0 && a.bytes/factor >= l.Bytes {
		return &Exceeded{"bytes_per_day", l.Bytes, untilTomorrow(now)}
	}
	if l.Requests > 0 {
		burst := l.burst()
		spare := burst * float64(factor-1)
		if a.filled.IsZero() {
			a.tokens = burst
		} else {
			a.tokens = min(burst, a.tokens+max(0, now.Sub(a.filled).Seconds())*float64(l.Requests))
		}
		a.filled = now
		// A batch that is larger than the burst is admitted when all tokens are there, and paid for afterwards.
		if missing := min(float64(n), burst) - spare - a.tokens; missing > 0 {
			return &Exceeded{"requests_per_second", l.Requests, time.Duration(missing / float64(l.Requests) * float64(time.Second))}
		}
		a.tokens -= float64(n)
	}
	a.bytes += bytes
	return nil
}

// Wrote counts bytes of answers.
func (a *Account) Wrote(bytes int64, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(now)
	a.bytes += bytes
}

// begin counts a call until end is called. The error is an *Exceeded.
func (a *Account) begin(l Limits, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begins(l, now)
	if err := a.fuelLeft(l, now); err != nil {
		return err
	}
	if l.Concurrent > 0 && a.calls >= l.Concurrent {
		return &Exceeded{Key: "concurrent", Limit: l.Concurrent}
	}
	a.calls++
	return nil
}

// fuelLeft returns an *Exceeded if the fuel of the day is used up. The caller holds the lock.
func (a *Account) fuelLeft(l Limits, now time.Time) error {
	if l.Fuel > 0 && a.fuel >= l.Fuel {
		return &Exceeded{"fuel_per_day", l.Fuel, untilTomorrow(now)}
	}
	return nil
}

// end ends a call.
func (a *Account) end(fuel int64, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(now)
	a.calls--
	a.fuel += fuel
}

// beginQuestion counts a call that waits for an answer until endQuestion is called. The error is an *Exceeded.
func (a *Account) beginQuestion(l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.Questions > 0 && a.questions >= l.Questions {
		return &Exceeded{Key: "questions", Limit: l.Questions}
	}
	a.questions++
	return nil
}

func (a *Account) endQuestion() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions--
}

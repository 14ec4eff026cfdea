package code

import (
	"errors"
	"sync"
	"time"
)

// Lifetimes of cached failures. Whether a module is invalid depends on its bytes only, except that a machine short of
// memory may hit the resource limits earlier. A compiler that crashed twice may work when the machine has recovered.
const (
	invalidAge = 10 * time.Minute
	crashAge   = 10 * time.Second
	maxFailed  = 256
)

// failures caches the failures of modules that cannot be compiled, so that repeated calls do not start a compiler each. The
// failure of a killed compiler is not cached, because the module may be valid.
type failures struct {
	mu    sync.Mutex
	byKey map[string]cachedFailure
}

type cachedFailure struct {
	failure *Error
	until   time.Time
}

func (f *failures) put(key string, err error) {
	failure := (*Error)(nil)
	if !errors.As(err, &failure) {
		return
	}
	age := invalidAge
	switch {
	case errors.Is(err, errCrashed):
		age = crashAge
	case failure.Reason != Invalid:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byKey == nil || len(f.byKey) >= maxFailed {
		f.byKey = map[string]cachedFailure{}
	}
	f.byKey[key] = cachedFailure{failure, time.Now().Add(age)}
}

// get returns the cached failure of an entry, or nil.
func (f *failures) get(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.byKey[key]
	if !ok {
		return nil
	}
	if time.Now().After(found.until) {
		delete(f.byKey, key)
		return nil
	}
	return found.failure
}

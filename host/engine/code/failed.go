package code

import (
	"errors"
	"sync"
	"time"
)

// How long failures are remembered. A verdict on a module depends on its bytes alone, but for the bounds, which a
// machine short of memory may reach earlier. A compiler that crashed twice may work when the machine has recovered.
const (
	verdictAge = 10 * time.Minute
	crashAge   = 10 * time.Second
	maxFailed  = 256
)

// failures remembers modules that cannot be compiled, so that not each call pays for finding it out. A killed compiler
// says nothing of a module and is not remembered.
type failures struct {
	mu    sync.Mutex
	byKey map[string]remembered
}

type remembered struct {
	failure *Error
	until   time.Time
}

func (f *failures) put(key string, err error) {
	failure := (*Error)(nil)
	if !errors.As(err, &failure) {
		return
	}
	age := verdictAge
	switch {
	case errors.Is(err, errCrashed):
		age = crashAge
	case failure.Reason != Invalid:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byKey == nil || len(f.byKey) >= maxFailed {
		f.byKey = map[string]remembered{}
	}
	f.byKey[key] = remembered{failure, time.Now().Add(age)}
}

// get returns the failure of an entry; nil if none is remembered.
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

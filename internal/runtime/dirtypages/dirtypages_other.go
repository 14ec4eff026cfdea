//go:build !linux

package dirtypages

// Tracker is not available on this system.
type Tracker struct{}

// Open returns errUnsupported.
func Open() (*Tracker, error) { return nil, errUnsupported }

// Close does nothing.
func (t *Tracker) Close() {}

// Track returns errUnsupported.
func (t *Tracker) Track([]byte) (*Memory, error) { return nil, errUnsupported }

// Memory is not available on this system.
type Memory struct{}

// Distrust does nothing.
func (m *Memory) Distrust() {}

// Protect returns errUnsupported.
func (m *Memory) Protect(int) error { return errUnsupported }

// Written returns errUnsupported.
func (m *Memory) Written(int, func(from, to int)) error { return errUnsupported }

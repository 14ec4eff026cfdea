//go:build !linux

package dirtypages

// Tracker is not available on this system.
type Tracker struct{}

// Open returns ErrUnsupported.
func Open() (*Tracker, error) { return nil, ErrUnsupported }

// Close does nothing.
func (t *Tracker) Close() {}

// Track returns ErrUnsupported.
func (t *Tracker) Track([]byte) (*Memory, error) { return nil, ErrUnsupported }

// Memory is not available on this system.
type Memory struct{}

// Distrust does nothing.
func (m *Memory) Distrust() {}

// Protect returns ErrUnsupported.
func (m *Memory) Protect(int) error { return ErrUnsupported }

// Written returns ErrUnsupported.
func (m *Memory) Written(int, func(from, to int)) error { return ErrUnsupported }

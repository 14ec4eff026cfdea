package secret

import "time"

// WithClock returns Commands with a clock of the test.
func WithClock(now func() time.Time) *Commands { return &Commands{now: now} }

//go:build !linux

package worker

import (
	"errors"
	"time"
)

// Without /proc, a worker's processor time is unknown, and no worker is demoted.

func (p *process) demote() {}

func (p *process) processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

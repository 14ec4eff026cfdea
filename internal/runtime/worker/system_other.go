//go:build !linux

package worker

import (
	"errors"
	"time"
)

// Without /proc, a worker's memory and processor time are unknown: the budget counts the calls' limits, and no worker is
// demoted.

func (p *process) demote() {}

func (p *process) processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

func (p *process) measure() {}

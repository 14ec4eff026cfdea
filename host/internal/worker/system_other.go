//go:build !linux

package worker

import (
	"errors"
	"time"
)

// Without /proc, a worker's use of memory and processors is not known: the budget counts what calls may take, and
// no worker is demoted.

func (p *process) demote() {}

func (p *process) processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

func (p *process) measure() {}

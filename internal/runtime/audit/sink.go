package audit

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// retryAfter is how long ready backs off after a failure.
const retryAfter = time.Second

// sink writes lines to the file, one batch at a time, and counts lost records.
type sink struct {
	losses *losses

	mu       sync.Mutex
	file     *file
	failedAt time.Time
	line     line // buffer for gaps
	closed   bool
}

// put writes whole lines. On an error it counts the lines that were not written as lost.
func (s *sink) put(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(lines)
}

func (s *sink) write(lines []byte) error {
	if s.closed {
		return fmt.Errorf("audit log %s: %w", s.file.path, os.ErrClosed)
	}
	n := 0
	err := s.fillGap()
	if err == nil && len(lines) > 0 {
		n, err = s.file.append(lines)
	}
	if err != nil {
		s.failedAt = s.losses.now()
		if lost := countLines(lines[n:]); lost > 0 {
			s.losses.add(lost, err)
		}
		return fmt.Errorf("audit log %s: %w", s.file.path, err)
	}
	if s.file.unrotated != nil {
		s.losses.rotationFailed(s.file.unrotated)
	}
	s.losses.reportPending(false)
	return nil
}

// fillGap writes a gap line if records were lost since the last one.
func (s *sink) fillGap() error {
	lost := s.losses.gap()
	if lost.records == 0 {
		return nil
	}
	lost.until = s.losses.now()
	s.line.encodeGap(lost)
	if _, err := s.file.append(s.line.b); err != nil {
		return err
	}
	s.losses.gapWritten(lost.records)
	return nil
}

// ready returns an error if records cannot be written. After a loss, it assumes that writing still fails until a gap line is
// written. To detect the recovery, ready tries to write the gap line.
func (s *sink) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.losses.gap()
	if lost.records == 0 && !s.closed {
		return nil
	}
	if !s.closed && s.losses.now().Sub(s.failedAt) < retryAfter {
		return fmt.Errorf("audit log %s: %w", s.file.path, lost.cause)
	}
	return s.write(nil)
}

func (s *sink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.file.close()
}

package audit

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// retryAfter is how long a failed log is left alone before a call tries it again.
const retryAfter = time.Second

// sink writes lines to the file, one batch at a time, and keeps the count of those that it could not.
type sink struct {
	trouble *trouble

	mu     sync.Mutex
	file   *file
	tried  time.Time // when it last failed
	line   line      // for the gap
	closed bool
}

// put writes whole lines. After an error the ones that are not in the file are counted as lost.
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
		s.tried = s.trouble.now()
		if lost := countLines(lines[n:]); lost > 0 {
			s.trouble.lose(lost, err)
		}
		return fmt.Errorf("audit log %s: %w", s.file.path, err)
	}
	if s.file.unrotated != nil {
		s.trouble.unrotated(s.file.unrotated)
	}
	s.trouble.remind(false)
	return nil
}

// fillGap writes the line that says what is missing before the next one.
func (s *sink) fillGap() error {
	missing := s.trouble.gap()
	if missing.records == 0 {
		return nil
	}
	missing.until = s.trouble.now()
	s.line.encodeGap(missing)
	if _, err := s.file.append(s.line.b); err != nil {
		return err
	}
	s.trouble.told(missing.records)
	return nil
}

// ready says why no record can be written. Lost records prove that; the line about them is the attempt
// that proves the contrary.
func (s *sink) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := s.trouble.gap()
	if missing.records == 0 && !s.closed {
		return nil
	}
	if !s.closed && s.trouble.now().Sub(s.tried) < retryAfter {
		return fmt.Errorf("audit log %s: %w", s.file.path, missing.cause)
	}
	return s.write(nil)
}

func (s *sink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.file.close()
}

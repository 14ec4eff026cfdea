package audit

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/linequeue"
)

// retryAfter is how long ready backs off after a failure.
const retryAfter = time.Second

// Appender receives lines. It is used by one goroutine at a time.
type Appender interface {
	// Append appends whole lines, and returns the number of bytes of the whole lines that were appended. It must not keep the slice.
	Append(lines []byte) (int, error)
	Close() error
}

// sink writes lines to an Appender, one batch at a time, and counts lost records.
type sink struct {
	losses *losses

	mu       sync.Mutex
	out      Appender
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
		return fmt.Errorf("audit log %s: %w", s.losses.to, os.ErrClosed)
	}
	n := 0
	err := s.fillGap()
	if err == nil && len(lines) > 0 {
		n, err = s.out.Append(lines)
	}
	if err != nil {
		s.failedAt = s.losses.now()
		if lost := countLines(lines[n:]); lost > 0 {
			s.losses.add(lost, err)
		}
		return fmt.Errorf("audit log %s: %w", s.losses.to, err)
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
	if _, err := s.out.Append(s.line.b); err != nil {
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
		return fmt.Errorf("audit log %s: %w", s.losses.to, lost.cause)
	}
	return s.write(nil)
}

// drain writes what is queued until ctx is done, and closes the sink. queue may be nil.
func (s *sink) drain(ctx context.Context, queue *linequeue.Queue) error {
	if queue != nil {
		if left, err := queue.Close(ctx); err != nil {
			return fmt.Errorf("audit log %s: %d queued records, and those that are being written, are lost: %w", s.losses.to, left, err)
		}
	}
	s.losses.reportPending(true)
	return s.close()
}

func (s *sink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.out.Close()
}

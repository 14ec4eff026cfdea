package tasks

import (
	"time"
)

// open makes the directory, and reads which tasks earlier processes left there.
func (s *Store) open() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.opened {
		return nil
	}
	if err := s.files.open(); err != nil {
		return err
	}
	now := s.now()
	for found := range s.files.list(s.log) {
		r := found.record
		if !r.Status.isFinal() {
			if s.files.isAlive(r.Server) {
				continue // its process will remove it
			}
			var err error
			if r, err = s.interrupt(found.owner, found.id, r); err != nil {
				s.log.Warn("the record of a task cannot be written", "error", err)
				continue
			}
		}
		if r.Expires <= now.UnixMilli() {
			s.remove(found.owner, found.id)
			continue
		}
		s.mu.Lock()
		s.setEntry(found.id, entry{owner: found.owner, expires: time.UnixMilli(r.Expires), size: int64(r.Size)})
		s.mu.Unlock()
	}
	s.mu.Lock()
	if len(s.kept) > 0 && s.sweeper == nil && !s.closed {
		s.sweeper = time.AfterFunc(sweepInterval, s.sweep)
	}
	s.mu.Unlock()
	s.opened = true
	return nil
}

// interrupt makes a task fail that has not ended by its record r, and whose process has. If the process has ended the task since r was read,
// the record stays as it is. The result is the new record, even if it cannot be written.
func (s *Store) interrupt(owner Owner, id string, r record) (record, error) {
	if last, err := s.files.readHead(owner, id); err == nil && last.Status.isFinal() {
		return last, nil
	}
	r = r.interrupted(s.now(), s.keep)
	return r, s.files.write(owner, id, r)
}

// sweep removes the tasks that have expired.
func (s *Store) sweep() {
	now := s.now()
	expired := map[string]Owner{}
	s.mu.Lock()
	for id, e := range s.kept {
		if !e.expires.IsZero() && !e.expires.After(now) {
			expired[id] = e.owner
			s.setEntry(id, entry{})
			delete(s.running, id) // the final state of a task whose record could not be written
		}
	}
	if s.sweeper = nil; len(s.kept) > 0 && !s.closed {
		s.sweeper = time.AfterFunc(sweepInterval, s.sweep)
	}
	s.mu.Unlock()
	for id, owner := range expired {
		s.remove(owner, id)
	}
}

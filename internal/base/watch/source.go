package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
)

// source reports events in directories.
type source struct {
	events <-chan struct{} // contains an element if events occurred since the last receive
	add    func(dir string) error
	remove func(dir string) error
	close  func()
}

// openSource opens the system's notifications. The source is nil if they are unsuitable: kqueue opens a descriptor for each
// file in a directory.
func openSource() (*source, error) {
	switch runtime.GOOS {
	case "linux", "windows":
	default:
		return nil, nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	events, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		forward(w, events)
	}()
	return &source{events: events, add: w.Add, remove: w.Remove, close: func() { _ = w.Close(); <-ended }}, nil
}

// forward merges the events and errors of a Watcher until the Watcher is closed. An error means that events were lost. It reads a
// bounded number of events per second; the system drops those that do not fit into its queue. It must not stop reading, since Add
// and Remove may block until an event is read.
func forward(w *fsnotify.Watcher, merged chan<- struct{}) {
	for n := 1; ; n++ {
		var open bool
		select {
		case _, open = <-w.Events:
		case _, open = <-w.Errors:
		}
		if !open {
			return
		}
		select {
		case merged <- struct{}{}:
		default:
		}
		if n%256 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

const maxDirectories = 1024

var errTooMany = fmt.Errorf("the watched files are in more than %d directories", maxDirectories)

// subscriptions are the directories that the source watches.
type subscriptions struct {
	config Config
	source *source // nil if the system offers no suitable notifications
	dirs   map[string]bool
	polled bool // the source does not watch all directories: poll with pollFast
	warned bool
}

func (s *subscriptions) open(c Config) {
	s.config, s.dirs = c, map[string]bool{}
	var err error
	if s.source, err = c.open(); err != nil {
		s.source = nil
		s.warnOfPolling(err)
	}
}

func (s *subscriptions) close() {
	if s.source != nil {
		s.source.close()
	}
}

// subscribe makes the source watch exactly the directories of paths. It adds each of them again, since for a replaced directory
// the system still watches the old one, or nothing.
func (s *subscriptions) subscribe(paths []path) {
	s.polled = s.source == nil
	if s.source == nil {
		return
	}
	wanted := map[string]bool{}
	for _, p := range paths {
		for _, dir := range directories(p.name) {
			wanted[dir] = wanted[dir] || !p.existing || dir != p.name
		}
	}
	maps.DeleteFunc(wanted, func(_ string, is bool) bool { return !is })
	for dir := range s.dirs {
		if !wanted[dir] {
			_ = s.source.remove(dir) // it fails for a removed directory, which needs no subscription
			delete(s.dirs, dir)
		}
	}
	for dir := range wanted {
		s.add(dir)
	}
}

func (s *subscriptions) add(dir string) {
	err := errTooMany
	if s.dirs[dir] || len(s.dirs) < maxDirectories {
		err = s.source.add(dir)
	}
	if err == nil {
		s.dirs[dir] = true
		return
	}
	s.polled = true
	if !errors.Is(err, fs.ErrNotExist) { // no warning if dir was just removed: the next look subscribes its ancestor
		s.warnOfPolling(err)
	}
}

// warn logs a warning at its first call, and nothing at later ones.
func (s *subscriptions) warn(text string, args ...any) {
	if !s.warned {
		s.warned = true
		s.config.Log.Warn(text, args...)
	}
}

func (s *subscriptions) warnOfPolling(err error) {
	s.warn("the system does not report all changes of the watched files: they are examined at intervals (on Linux raise fs.inotify.max_user_watches and fs.inotify.max_user_instances)",
		"interval", pollFast, "reason", err)
}

// events returns the channel of the source, or nil without a source.
func (s *subscriptions) events() <-chan struct{} {
	if s.source == nil {
		return nil
	}
	return s.source.events
}

// awaitEvent returns when there may be a change. It returns false when ctx has ended.
func (s *subscriptions) awaitEvent(ctx context.Context) bool {
	interval := pollSlow
	if s.polled {
		interval = pollFast
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-s.events():
	}
	return ctx.Err() == nil
}

// forget discards the events up to now.
func (s *subscriptions) forget() {
	select {
	case <-s.events():
	default:
	}
}

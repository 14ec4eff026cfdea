package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Query selects entries of a log. Empty fields select all.
type Query struct {
	Plugins  []string
	Tools    []string // names of tools or prompts, or URIs of resources; a trailing * selects all names with that prefix
	Outcomes []Outcome
	Clients  []string // ids of principals, or the names and versions that clients report; a trailing * selects all with that prefix
	Since    time.Time
	Limit    int // number of the newest entries to select; 0: all. Follow also yields all entries that are written later
}

// Outcomes are the outcomes that a line can have.
var Outcomes = []Outcome{OK, ToolError, RPCError, Failed, Denied, Cancelled, Asked}

// Matches reports whether q selects e, whatever its limit. A line that counts lost records matches all names and outcomes, because a lost record
// could have any.
func (q Query) Matches(e Entry) bool {
	if e.Time.Before(q.Since) {
		return false
	}
	if e.Kind == KindGap {
		return true
	}
	return (len(q.Plugins) == 0 || slices.Contains(q.Plugins, e.Plugin)) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, e.Outcome)) &&
		(len(q.Tools) == 0 || slices.ContainsFunc(q.Tools, func(name string) bool { return isName(name, e.Tool) })) &&
		(len(q.Clients) == 0 || slices.ContainsFunc(q.Clients, func(name string) bool {
			return isName(name, e.Principal) || isName(name, e.Subject) || isName(name, e.Client)
		}))
}

// isName reports whether a name of a query, which may end in *, selects the name of an entry.
func isName(wanted, name string) bool {
	prefix, isPrefix := strings.CutSuffix(wanted, "*")
	return name == wanted || isPrefix && strings.HasPrefix(name, prefix)
}

// Read reads the log at path with its rotated files, the oldest entries first, and calls yield for each entry that q selects
// and damaged for each line that is not a record. It reads only lines that were written before it began. It returns an error
// of yield or of reading a file, or one that wraps fs.ErrNotExist if there is no file.
func Read(path string, q Query, yield func(Entry) error, damaged func(Damage)) error {
	files, err := openLogFiles(path)
	defer closeAll(files)
	if err != nil {
		return err
	}
	return readAll(files, q, yield, damaged, false)
}

// Follow reads the log like Read, and then the lines that are written until ctx ends, also after rotations. An absent log
// counts as empty until it is created.
func Follow(ctx context.Context, path string, q Query, yield func(Entry) error, damaged func(Damage)) error {
	files, err := openLogFiles(path)
	defer func() { closeAll(files) }()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := readAll(files, q, yield, damaged, true); err != nil {
		return err
	}
	selected := func(e Entry) error {
		if q.Matches(e) {
			return yield(e)
		}
		return nil
	}
	poll := time.NewTicker(followInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}
		if files, err = readNew(path, files, selected, damaged); err != nil {
			return err
		}
	}
}

// followInterval is the time between two reads of Follow.
const followInterval = 250 * time.Millisecond

// maxAbsent is the maximum number of consecutive files of a log that may be absent. During a rotation one name is absent at a
// time, first that of the oldest file and last that of the newest. A second rotation can begin while the files are opened.
const maxAbsent = 3

// openLogFiles returns the open files of a log, oldest first. It opens the newest file first, because a rotation may rename
// files at the same time: then no file is missed, and a renamed file that is found twice is recognized.
func openLogFiles(path string) ([]*logFile, error) {
	var files []*logFile
	absent := 0
	for i := range MaxKeep + 1 {
		f, err := openLogFile(rotatedName(path, i))
		if errors.Is(err, fs.ErrNotExist) {
			if absent++; absent <= maxAbsent {
				continue
			}
			break
		}
		absent = 0
		switch {
		case err != nil:
			closeAll(files)
			return nil, err
		case slices.ContainsFunc(files, func(other *logFile) bool { return os.SameFile(f.info, other.info) }):
			f.Close()
		default:
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	slices.Reverse(files)
	return files, nil
}

func closeAll(files []*logFile) {
	for _, f := range files {
		f.Close()
	}
}

// readAll reads files up to the sizes that they had when they were opened. With a limit it reads them twice, so that it need
// not hold entries in memory. If followed is set, an incomplete line at the end of the last file is not reported.
func readAll(files []*logFile, q Query, yield func(Entry) error, damaged func(Damage), followed bool) error {
	skip := 0
	if q.Limit > 0 {
		selected := 0
		count := func(e Entry) error {
			if q.Matches(e) {
				selected++
			}
			return nil
		}
		for _, f := range q.recent(files) {
			if err := f.read(f.end, count, func(Damage) {}); err != nil {
				return err
			}
			f.rewind()
		}
		skip = selected - q.Limit
	}
	for _, f := range q.recent(files) {
		err := f.read(f.end, func(e Entry) error {
			if !q.Matches(e) {
				return nil
			}
			if skip--; skip >= 0 {
				return nil
			}
			return yield(e)
		}, damaged)
		if err != nil {
			return err
		}
		if !followed || f != files[len(files)-1] {
			f.incomplete(damaged)
		}
	}
	return nil
}

// readNew reads what was written to the log since files were read, and returns the current log file.
func readNew(path string, files []*logFile, yield func(Entry) error, damaged func(Damage)) ([]*logFile, error) {
	if len(files) == 0 {
		files, err := openLogFiles(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return readRotated(files, err, yield, damaged)
	}
	newest := files[len(files)-1]
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(now, newest.info) {
		return files, newest.readNew(yield, damaged)
	}
	all, err := openLogFiles(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return files, err
	}
	known := slices.IndexFunc(all, func(f *logFile) bool { return os.SameFile(f.info, newest.info) })
	if err := newest.readNew(yield, damaged); err != nil { // lines that were written before the rotation
		closeAll(all)
		return files, err
	}
	newest.incomplete(damaged)
	closeAll(files)
	if known < 0 {
		damaged(Damage{File: path, Line: 1, What: "the file replaces a file that was removed: records may be missing"})
	}
	closeAll(all[:known+1])
	return readRotated(all[known+1:], nil, yield, damaged)
}

// readRotated reads all files, and closes all but the last one, which it returns.
func readRotated(files []*logFile, err error, yield func(Entry) error, damaged func(Damage)) ([]*logFile, error) {
	for i, f := range files {
		if err == nil {
			err = f.readNew(yield, damaged)
		}
		if i < len(files)-1 {
			if err == nil {
				f.incomplete(damaged)
			}
			f.Close()
		}
	}
	return files[max(0, len(files)-1):], err
}

// recent returns the files that can contain entries since q.Since: those to which the last write was not before q.Since.
func (q Query) recent(files []*logFile) []*logFile {
	return slices.DeleteFunc(slices.Clone(files), func(f *logFile) bool { return f.info.ModTime().Before(q.Since) })
}
